//! Both ends with UDP sockets.
