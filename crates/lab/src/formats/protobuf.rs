//! The wire format of Protocol Buffers, read field by field.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// A whole number or a flag; a negative number in two's complement of 64 bits.
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    /// A text, bytes, a message, or a packed list.
    Bytes(&'a [u8]),
}

/// Bytes with their place in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// Start of `rest`, in bytes from the beginning of the file.
    pub(super) at: usize,
}

/// Error in a file: its place and what is wrong.
pub(super) type Wrong = (usize, String);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { rest: bytes, at }
    }

    pub(super) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, number: u64) -> Result<&'a [u8], Wrong> {
        let cut =
            || (self.at, format!("{number} bytes should follow, but there are only {}", self.rest.len()));
        let length = usize::try_from(number).map_err(|_| cut())?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(cut)?;
        (self.rest, self.at) = (rest, self.at + length);
        Ok(taken)
    }

    pub(super) fn varint(&mut self) -> Result<u64, Wrong> {
        let start = self.at;
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = *self.take(1).map_err(|_| (start, "ends within a number".to_owned()))? else {
                break;
            };
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err((start, "a number of more than 64 bits".to_owned()))
    }

    /// Bytes with their length before them.
    pub(super) fn delimited(&mut self) -> Result<Self, Wrong> {
        let length = self.varint()?;
        let at = self.at;
        Ok(Self::new(self.take(length)?, at))
    }

    /// The next field: its number, where its value begins, and the value.
    pub(super) fn field(&mut self) -> Result<(u64, usize, Value<'a>), Wrong> {
        let start = self.at;
        let key = self.varint()?;
        let at = self.at;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().unwrap_or_default())),
            2 => {
                let inner = self.delimited()?;
                return Ok((key >> 3, inner.at, Value::Bytes(inner.rest)));
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().unwrap_or_default())),
            kind => {
                return Err((start, format!("no field of a message begins like this (wire type {kind})")));
            }
        };
        if key >> 3 == 0 {
            return Err((start, "a field with the number 0".to_owned()));
        }
        Ok((key >> 3, at, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_encoding_are_read() {
        // From the description of the encoding: field 1 is 150; field 2 is the text "testing".
        let mut reader =
            Reader::new(&[0x08, 0x96, 0x01, 0x12, 0x07, b't', b'e', b's', b't', b'i', b'n', b'g'], 0);
        assert_eq!(reader.field(), Ok((1, 1, Value::Varint(150))));
        assert_eq!(reader.field(), Ok((2, 5, Value::Bytes(b"testing"))));
        assert!(reader.is_done());
        // -2 as ten bytes, and one byte too many.
        let minus = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Reader::new(&minus, 0).varint(), Ok(-2_i64 as u64));
        assert!(Reader::new(&[0xff; 11], 0).varint().unwrap_err().1.contains("more than 64 bits"));
        let mut numbers = Reader::new(&[0x09, 1, 0, 0, 0, 0, 0, 0, 0, 0x0d, 2, 0, 0, 0], 0);
        assert_eq!(numbers.field(), Ok((1, 1, Value::Fixed64(1))));
        assert_eq!(numbers.field(), Ok((1, 10, Value::Fixed32(2))));
        // Cut off in a number, in a text; groups.
        assert_eq!(Reader::new(&[0x08, 0x96], 7).field(), Err((8, "ends within a number".to_owned())));
        let cut = Reader::new(&[0x12, 0x07, b't'], 0).field().unwrap_err();
        assert_eq!(cut, (2, "7 bytes should follow, but there are only 1".to_owned()));
        assert!(Reader::new(&[0x0b], 0).field().unwrap_err().1.contains("wire type 3"));
    }
}
