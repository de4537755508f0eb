//! The rules of the engine, one file per subject. Each rule takes a case (the decision that is being made) and the
//! arguments of a command. It returns a reply, or stops with a refusal or with the parts of the state to load.

pub(crate) mod agent;
pub(crate) mod answer;
pub(crate) mod approval;
pub(crate) mod block;
pub(crate) mod claim;
pub(crate) mod condition;
pub(crate) mod conversation;
pub(crate) mod delivery;
pub(crate) mod gate;
pub(crate) mod inbox;
pub(crate) mod lapse;
pub(crate) mod notice;
pub(crate) mod pass;
pub(crate) mod place;
pub(crate) mod plan;
pub(crate) mod protect;
pub(crate) mod put_off;
pub(crate) mod record;
pub(crate) mod regain;
pub(crate) mod replan;
pub(crate) mod review;
pub(crate) mod section;
pub(crate) mod send_back;
pub(crate) mod status;
pub(crate) mod token;
pub(crate) mod told_item;
pub(crate) mod turn;
pub(crate) mod workflow;
