//! Directed edges between numbered nodes, by where they come from.

/// For every node, the nodes to which edges lead.
#[derive(Debug)]
pub(crate) struct Edges {
    /// Where the edges of each node begin, and where the last ones end.
    first: Vec<u32>,
    to: Vec<u32>,
}

impl Edges {
    /// The edges (from, to) that `edges` lists, each time the same, between `nodes` nodes.
    pub(crate) fn new<I: Iterator<Item = (u32, u32)>>(nodes: usize, edges: impl Fn() -> I) -> Self {
        let mut first = vec![0_u32; nodes + 1];
        for (from, _) in edges() {
            first[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut to = vec![0; first[nodes] as usize];
        let mut free = first.clone();
        for (from, target) in edges() {
            let place = &mut free[from as usize];
            to[*place as usize] = target;
            *place += 1;
        }
        Self { first, to }
    }

    /// The targets of a node's edges, in the order of the list.
    pub(crate) fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.to[self.first[node] as usize..self.first[node + 1] as usize]
    }
}
