import { needed, WHOLE } from '../../records/forms.ts'
import type { FleetList } from './fleet-questions.ts'

/** SCOPE is the parameter that says whose figures are asked for. */
export const SCOPE = {
  schema: { kind: 'choice', of: ['fleet', 'node'] },
  doc: 'of all nodes on the same Redis, by default, or of the node that answers',
} as const

/** FLEET is what every answer says that is made of several nodes. */
export const FLEET = {
  nodes: needed(WHOLE, 'how many nodes it is made of'),
  nodes_left_out: needed(WHOLE, 'nodes that did not answer in time, or were too many to ask'),
} as const

export function fleetJson({ nodes, nodesLeftOut }: Pick<FleetList<unknown>, 'nodes' | 'nodesLeftOut'>) {
  return { nodes, nodes_left_out: nodesLeftOut }
}
