//! Every refusal's code, whether the caller can mend it, and what the original server says of the same code.
