//! Where people come in.
