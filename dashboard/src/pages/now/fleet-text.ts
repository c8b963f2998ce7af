interface Fleet {
  readonly nodes: number
  readonly nodes_left_out: number
}

/** madeOf says of how many nodes a list is made, and how many are missing in it. */
export function madeOf({ nodes, nodes_left_out: leftOut }: Fleet): string {
  const text = nodes === 1 ? 'Of one node' : `Of ${nodes} nodes`
  return leftOut === 0 ? text : `${text}, without ${leftOut} that ${leftOut === 1 ? 'does' : 'do'} not answer`
}
