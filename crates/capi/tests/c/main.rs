//! The library as a program in C finds it: what the compiler says of the header, the example, the install.

mod dpdk;
mod example;
mod layout;
mod tools;
