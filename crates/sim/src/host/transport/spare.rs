//! Lists of things that a host mostly has one of.

/// Appends to a list that often has one item for all its life: there is no room for more before there are.
pub(super) fn push_sparely<T>(list: &mut Vec<T>, item: T) {
    if list.capacity() == 0 {
        list.reserve_exact(1);
    }
    list.push(item);
}
