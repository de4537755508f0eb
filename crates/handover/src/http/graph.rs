//! `/api/v1/workflows/{id}/graph`: all tasks of a plan with their states and dependencies, in columns, so that a page with
//! thousands of tasks stays small.

use std::collections::HashMap;

use axum::extract::{Path, State};
use axum::response::Response;
use base::people::task_list::{self, ListedTask};
use base::service::Service;
use engine::Refusal;
use engine::id::{TaskId, WorkflowId};
use engine::world::TaskIdNeed;
use wire::json::{Value, object};

use super::HttpState;
use super::problem::{HttpProblem, json, named};

/// The largest number of tasks in one graph. `cut` says that the plan has more.
const TASKS_MAX: usize = 10_000;
/// The number of tasks whose dependencies are read at once.
const PIECE: usize = 500;

/// Handles `GET /api/v1/workflows/{id}/graph`.
pub(super) async fn graph(State(shared): State<HttpState>, Path(text): Path<String>) -> Result<Response, HttpProblem> {
    let id: WorkflowId = named(&text, |workflow| Refusal::WorkflowNotFound { workflow })?;
    let service = shared.desk.service();
    let read = async {
        let cursor = service.end().await?;
        let (rows, is_cut) = task_list::whole_plan(service, id, TASKS_MAX).await?;
        let edges = edges(service, &rows).await?;
        Ok::<_, base::Error>(value(&rows, &edges, (is_cut, cursor.to_string())))
    };
    read.await.map(|value| json(&value)).map_err(|error| HttpProblem::fault(&error))
}

/// Returns the dependencies between these tasks: the place of the task that must be done first, and of the one that waits.
async fn edges(service: &Service, rows: &[ListedTask]) -> Result<Vec<(usize, usize)>, base::Error> {
    let places: HashMap<TaskId, usize> = rows.iter().enumerate().map(|(at, row)| (row.task.id, at)).collect();
    let mut edges = Vec::new();
    for piece in rows.chunks(PIECE) {
        let ids: Vec<TaskId> = piece.iter().map(|row| row.task.id).collect();
        let found = service
            .view(move |world| {
                world.want(ids.iter().map(|id| TaskIdNeed::Dependencies(*id)))?;
                ids.iter().map(|id| Ok((*id, world.ask(&TaskIdNeed::Dependencies(*id))?.clone()))).collect()
            })
            .await?;
        let found: Vec<(TaskId, Vec<TaskId>)> = found;
        for (task, before) in found {
            let Some(to) = places.get(&task) else { continue };
            edges.extend(before.iter().filter_map(|id| Some((*places.get(id)?, *to))));
        }
    }
    Ok(edges)
}

/// Returns the layer of each task: 0 for a task that waits for none, else one more than the highest layer below it.
fn layers(tasks: usize, edges: &[(usize, usize)]) -> Vec<u32> {
    let (mut layers, mut waiting) = (vec![0_u32; tasks], vec![0_usize; tasks]);
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); tasks];
    for (from, to) in edges {
        waiting[*to] += 1;
        next[*from].push(*to);
    }
    let mut free: Vec<usize> = (0..tasks).filter(|at| waiting[*at] == 0).collect();
    while let Some(at) = free.pop() {
        for to in std::mem::take(&mut next[at]) {
            layers[to] = layers[to].max(layers[at] + 1);
            waiting[to] -= 1;
            if waiting[to] == 0 {
                free.push(to);
            }
        }
    }
    layers
}

fn value(rows: &[ListedTask], edges: &[(usize, usize)], (is_cut, cursor): (bool, String)) -> Value {
    let column = |cell: &dyn Fn(&ListedTask) -> Value| Value::List(rows.iter().map(cell).collect());
    let whole = |number: usize| Value::from(u64::try_from(number).unwrap_or(u64::MAX));
    let layers = layers(rows.len(), edges).into_iter().map(|layer| u64::from(layer).into()).collect();
    let edges = edges.iter().map(|(from, to)| Value::List(vec![whole(*from), whole(*to)])).collect();
    object([
        ("ids", column(&|row| row.task.id.to_string().into())),
        ("numbers", column(&|row| u64::from(row.task.number).into())),
        ("names", column(&|row| row.task.name.as_str().into())),
        ("states", column(&|row| row.state.as_str().into())),
        ("agents", column(&|row| row.agent.as_ref().map(|(_, slug)| slug.as_str()).into())),
        ("layers", Value::List(layers)),
        ("edges", Value::List(edges)),
        ("cut", is_cut.into()),
        ("cursor", cursor.into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_one_layer_above_the_highest_task_that_it_waits_for() {
        // Task 3 waits for 1 and 2, task 2 waits for 0, and task 4 waits for none.
        assert_eq!(layers(5, &[(0, 2), (1, 3), (2, 3)]), [0, 0, 1, 2, 0]);
        assert_eq!(layers(0, &[]), Vec::<u32>::new());
    }
}
