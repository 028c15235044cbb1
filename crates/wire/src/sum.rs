//! Sums that find damage: CRC-32C for each packet, CRC-64 for a whole message. They do not protect against
//! intentional changes.

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4): finds every burst of up to 32 damaged bits, and any other damage
/// except with probability 2^-32.
#[derive(Clone, Copy, Debug)]
pub struct Crc32c(u32);

/// CRC-64 with the polynomial of ECMA-182, bits reflected, as in the format of xz.
#[derive(Clone, Copy, Debug)]
pub struct Crc64(u64);

macro_rules! crc {
    ($name:ident, $word:ty, $polynomial:literal, $table:ident) => {
        /// `$table[k][b]`: the remainder of the byte `b` with `k` zero bytes after it.
        static $table: [[$word; 256]; 8] = {
            let mut table = [[0; 256]; 8];
            let mut byte = 0;
            while byte < 256 {
                let (mut rest, mut bit): ($word, u32) = (byte as $word, 0);
                while bit < 8 {
                    rest = if rest & 1 != 0 { rest >> 1 ^ $polynomial } else { rest >> 1 };
                    bit += 1;
                }
                table[0][byte] = rest;
                byte += 1;
            }
            let mut zeros = 1;
            while zeros < 8 {
                let mut byte = 0;
                while byte < 256 {
                    let before = table[zeros - 1][byte];
                    table[zeros][byte] = before >> 8 ^ table[0][(before & 0xff) as usize];
                    byte += 1;
                }
                zeros += 1;
            }
            table
        };

        impl Default for $name {
            fn default() -> Self {
                Self(<$word>::MAX)
            }
        }

        impl $name {
            /// The next bytes.
            pub fn update(&mut self, bytes: &[u8]) {
                let (words, rest) = bytes.as_chunks::<8>();
                for word in words {
                    let mixed = (u64::from_le_bytes(*word) ^ u64::from(self.0)).to_le_bytes();
                    let sums = mixed.iter().rev().zip(&$table);
                    self.0 = sums.fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)]);
                }
                for byte in rest {
                    let place = (self.0 & 0xff) as usize ^ usize::from(*byte);
                    self.0 = self.0 >> 8 ^ $table[0][place];
                }
            }

            /// The sum of all bytes so far.
            #[must_use]
            pub const fn value(&self) -> $word {
                !self.0
            }
        }
    };
}

crc!(Crc32c, u32, 0x82f6_3b78, TABLE_32);
crc!(Crc64, u64, 0xc96c_5795_d787_0f42, TABLE_64);

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(bytes: &[u8]) -> (u32, u64) {
        let (mut short, mut long) = (Crc32c::default(), Crc64::default());
        short.update(bytes);
        long.update(bytes);
        (short.value(), long.value())
    }

    /// Bit by bit, without tables.
    fn plainly(bytes: &[u8]) -> (u32, u64) {
        let (mut short, mut long) = (u32::MAX, u64::MAX);
        for byte in bytes {
            short ^= u32::from(*byte);
            long ^= u64::from(*byte);
            for _ in 0..8 {
                short = short >> 1 ^ if short & 1 != 0 { 0x82f6_3b78 } else { 0 };
                long = long >> 1 ^ if long & 1 != 0 { 0xc96c_5795_d787_0f42 } else { 0 };
            }
        }
        (!short, !long)
    }

    #[test]
    fn published_values() {
        // RFC 3720, appendix B.4: 32 zeros, 32 ones, 0 to 31. The check values of both sums for "123456789" are
        // those of the catalogue of parametrised CRC algorithms.
        assert_eq!(sums(&[0; 32]).0, 0x8a91_36aa);
        assert_eq!(sums(&[0xff; 32]).0, 0x62a8_ab43);
        let counted: Vec<u8> = (0..32).collect();
        assert_eq!(sums(&counted).0, 0x46dd_794e);
        assert_eq!(sums(b"123456789"), (0xe306_9283, 0x995d_c9bb_df19_39fa));
        assert_eq!(sums(&[]), (0, 0));
    }

    #[test]
    fn in_pieces_of_any_length_as_bit_by_bit() {
        let bytes: Vec<u8> = (0..200_u32).map(|n| (n * n % 251) as u8).collect();
        for cut in 0..bytes.len() {
            let (mut short, mut long) = (Crc32c::default(), Crc64::default());
            for piece in [&bytes[..cut], &bytes[cut..]] {
                short.update(piece);
                long.update(piece);
            }
            assert_eq!((short.value(), long.value()), plainly(&bytes));
        }
    }
}
