//! Names that the header has for numbers. In a file of their own, as the header has them from elsewhere.
#![expect(non_camel_case_types, reason = "the names are those that C has")]

/// A time in picoseconds.
pub(crate) type incast_time = u64;

/// The number of the binary interface that plugins are made for.
pub(crate) const ABI: u32 = 1;

/// The kinds of parameters, as numbers.
pub(crate) mod kind {
    pub(crate) const TIME: u32 = 0;
    pub(crate) const BYTES: u32 = 1;
    pub(crate) const RATE: u32 = 2;
    pub(crate) const RATIO: u32 = 3;
    pub(crate) const COUNT: u32 = 4;
    pub(crate) const FLAG: u32 = 5;
}

#[cfg(test)]
mod tests {
    use incast_capi::types::{INCAST_CC_ABI, incast_kind};

    #[test]
    fn the_numbers_are_those_of_the_header() {
        use super::kind::*;
        use incast_kind::*;
        assert_eq!(super::ABI, INCAST_CC_ABI);
        let ours = [TIME, BYTES, RATE, RATIO, COUNT, FLAG];
        let theirs = [
            INCAST_KIND_TIME,
            INCAST_KIND_BYTES,
            INCAST_KIND_RATE,
            INCAST_KIND_RATIO,
            INCAST_KIND_COUNT,
            INCAST_KIND_FLAG,
        ];
        assert_eq!(ours, theirs.map(|kind| kind as u32));
    }
}
