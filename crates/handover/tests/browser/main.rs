//! Tests the page of the dashboard in a real browser: Debian's Chromium, driven by playwright-core.
//!
//! A test makes a project with real runs and plays one script of the folder `scripts` in the browser. The script has
//! the steps and the expectations; `scripts/page.mjs` has what all scripts share.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

#[path = "../proof/busy.rs"]
mod busy;
mod scene;
#[path = "../support/terminal.rs"]
#[expect(dead_code, reason = "programs here get an environment of their own")]
mod terminal;

use scene::Scene;

#[test]
fn a_link_connects_the_browser_once_and_no_link_says_how_to_get_one() {
    let mut scene = Scene::new();
    scene.play("login");
}

#[test]
fn first_visit_says_what_is_missing() {
    let mut scene = Scene::bare();
    scene.play("first");
}

#[test]
fn the_busy_page_shows_everything_in_its_order() {
    let mut scene = Scene::busy();
    scene.play("busy");
}

#[test]
fn an_idle_project_says_what_it_waits_for() {
    let mut scene = Scene::new();
    scene.play("idle");
}

#[test]
fn the_keyboard_reaches_everything_and_controls_have_names() {
    let mut scene = Scene::busy();
    scene.play("keys");
}

#[test]
fn every_page_is_accessible_in_both_schemes_and_fits_a_narrow_screen() {
    let mut scene = Scene::busy();
    scene.play("look");
}

#[test]
fn the_page_follows_the_terminal_a_killed_server_and_twenty_tabs() {
    let mut scene = Scene::busy();
    scene.play("live");
}

#[test]
fn another_program_on_the_port_or_on_another_port_gets_nothing() {
    let mut scene = Scene::new();
    scene.play("thief");
}

#[test]
fn a_token_of_another_scope_looks_on_without_costs_questions_and_approvals() {
    let mut scene = Scene::busy();
    scene.play("scopes");
}

#[test]
fn hostile_texts_make_no_element_and_hide_no_character() {
    let mut scene = Scene::new();
    scene.play("hostile");
}

#[test]
fn a_person_decides_on_the_page_and_the_work_goes_on() {
    let mut scene = Scene::busy();
    scene.play("acts");
}

#[test]
fn a_task_is_read_by_file_and_merged_beside_a_changed_file() {
    let mut scene = Scene::busy();
    scene.play("task");
}

#[test]
fn comments_on_lines_reach_the_next_turn_of_the_agent() {
    let mut scene = Scene::busy();
    scene.play("sendback");
}

#[test]
fn allow_is_off_until_all_of_the_request_was_on_the_screen() {
    let mut scene = Scene::new();
    scene.play("approval");
}

#[test]
fn every_page_has_a_picture_in_the_docs() {
    let mut scene = Scene::busy();
    scene.play("pictures");
}
