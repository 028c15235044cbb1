//! Choices that users make by name.

/// A choice by name: each value with its name in scenario files and its meaning, the default first.
pub trait Named: Copy + PartialEq + 'static {
    /// Every value, its name, and what it means.
    const ALL: &'static [(Self, &'static str, &'static str)];
}

/// Defines an enum with [`Named`]; the first value is the default. The values after `examples`, which are those
/// of the examples of extensions, have no name.
macro_rules! named {
    (
        $(#[$doc:meta])*
        pub enum $enum:ident {
            $($name:literal => $variant:ident: $meaning:literal,)+
        }
        $(examples { $($example:ident,)+ })?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $enum {
            $(#[doc = $meaning] $variant,)+
            $($(#[cfg(feature = "examples")] #[doc = "An example."] $example,)+)?
        }

        impl $crate::describe::named::Named for $enum {
            const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$variant, $name, $meaning),)+];
        }

        impl Default for $enum {
            fn default() -> Self {
                <Self as $crate::describe::named::Named>::ALL[0].0
            }
        }
    };
}
pub(crate) use named;
