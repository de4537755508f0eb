//! Finds cycles of dependencies. The search uses no recursion, because a chain of dependencies can be as long as the
//! largest plan.

/// Returns the positions of the tasks that form a cycle, with the first position repeated at the end. Returns `None`
/// when there is no cycle.
pub(super) fn find_cycle(nodes: usize, edges: &[(usize, usize)]) -> Option<Vec<usize>> {
    // Remove the tasks that wait for no task. Repeat this until every remaining task waits for another remaining task.
    // If any tasks remain, they contain a cycle.
    let mut waits = vec![0_u32; nodes];
    let mut dependents = vec![Vec::new(); nodes];
    for (task, dependency) in edges {
        waits[*task] += 1;
        dependents[*dependency].push(*task);
    }
    let mut free: Vec<usize> = (0..nodes).filter(|node| waits[*node] == 0).collect();
    while let Some(node) = free.pop() {
        for dependent in &dependents[node] {
            waits[*dependent] -= 1;
            if waits[*dependent] == 0 {
                free.push(*dependent);
            }
        }
    }
    let start = (0..nodes).find(|node| waits[*node] > 0)?;
    let mut next = vec![None; nodes];
    for (task, dependency) in edges {
        if waits[*dependency] > 0 {
            next[*task] = Some(*dependency);
        }
    }
    let mut order = vec![None; nodes];
    let mut path = Vec::new();
    let mut node = start;
    loop {
        if let Some(first) = order[node] {
            let mut cycle: Vec<usize> = path.split_off(first);
            cycle.push(node);
            return Some(cycle);
        }
        order[node] = Some(path.len());
        path.push(node);
        node = next[node]?;
    }
}
