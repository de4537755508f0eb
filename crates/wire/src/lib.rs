//! What Handover speaks: five protocols, each a module that turns messages into the engine's commands and replies into
//! messages. The modules come with the doors that need them; the crate is here so that nothing else learns their fields.
