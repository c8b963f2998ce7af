import type { LiveFrame, Node } from '../../api/operations.ts'

export const nodeHref = (id: string): string => `/nodes?node=${encodeURIComponent(id)}`

/** ruleVersionOf is what most nodes that are there decide by. Undefined: they agree on none, or there are none. */
export function ruleVersionOf(nodes: readonly Node[]): string | undefined {
  const counts = new Map<string, number>()
  for (const { is_away, rule_version: version } of nodes) {
    if (!is_away) counts.set(version, (counts.get(version) ?? 0) + 1)
  }
  const [first, second] = [...counts].sort(([, a], [, b]) => b - a)
  return first === undefined || first[1] === second?.[1] ? undefined : first[0]
}

/** hasOtherRules says whether a node decides by other rules than most. */
export const hasOtherRules = (node: Node, common: string | undefined): boolean =>
  !node.is_away && node.rule_version !== common

/** lagOf returns how many changes of quotas a node lacks. Nodes that are unavailable do not count: they decide nothing. */
export function lagOf(node: Node, nodes: readonly Node[]): number {
  const newest = Math.max(0, ...nodes.filter(({ is_away }) => !is_away).map(({ revision }) => revision))
  return Math.max(0, newest - node.revision)
}

/** A FleetCount is how many nodes are listed, and how many of them are unavailable. */
export interface FleetCount {
  readonly all: number
  readonly away: number
}

/** fleetCount counts the nodes of the list or, before it is read, those of the live figures. */
export function fleetCount(frame: LiveFrame | undefined, nodes: readonly Node[]): FleetCount {
  if (nodes.length === 0) return { all: frame?.nodes ?? 0, away: frame?.nodes_away ?? 0 }
  return { all: nodes.length, away: nodes.filter(({ is_away }) => is_away).length }
}

export function fleetText({ all, away }: FleetCount): string {
  return away === 0 ? String(all) : `${all - away} of ${all}, ${away} away`
}

/** A Trouble is something that is not as it should be: what it means, and where to see more. */
export interface Trouble {
  readonly id: string
  readonly tone: 'warn' | 'bad'
  readonly title: string
  readonly text: string
  readonly href: string
  readonly link: string
}

const COUNTS_LOCALLY =
  'Counting locally: budgets are per node until it recovers. Rules that are set to refuse or to admit do so until then.'

/** troublesOf lists what is wrong, the worst first. */
export function troublesOf(frame: LiveFrame | undefined, nodes: readonly Node[]): readonly Trouble[] {
  return [
    ...storeTroubles(frame, nodes),
    ...awayTroubles(frame, nodes),
    ...databaseTroubles(frame),
    ...ruleTroubles(nodes),
    ...nameTroubles(nodes),
  ]
}

function storeTroubles(frame: LiveFrame | undefined, nodes: readonly Node[]): Trouble[] {
  const cut = nodes.filter(({ is_away, store, circuit }) => !is_away && (store === 'away' || circuit === 'open'))
  const isFrameCut = frame?.store === 'away'
  if (cut.length === 0 && !isFrameCut) return []
  const present = nodes.filter(({ is_away }) => !is_away).length
  const isAll = isFrameCut || cut.length === present
  return [
    {
      ...{ id: 'store', tone: 'bad', text: COUNTS_LOCALLY },
      title: isAll ? 'Redis cannot be reached' : `Redis cannot be reached from ${namesOf(cut)}`,
      href: cut.length === 1 ? nodeHref(cut[0].id) : '/nodes',
      link: cut.length === 1 ? 'See the node' : 'See the nodes',
    },
  ]
}

function awayTroubles(frame: LiveFrame | undefined, nodes: readonly Node[]): Trouble[] {
  const away = nodes.filter(({ is_away }) => is_away)
  const { away: count } = fleetCount(frame, nodes)
  if (count === 0) return []
  const isOne = count === 1
  const seeing = {
    href: away.length === 1 ? nodeHref(away[0].id) : '/nodes',
    link: isOne ? 'See the node' : 'See the nodes',
  }
  // A node that cannot reach Redis hears of no other: that says nothing about them.
  if (frame?.store === 'away') {
    const title = `${count} other ${isOne ? 'node' : 'nodes'} cannot be heard`
    const text = `Nodes hear of each other through Redis. ${isOne ? 'It' : 'They'} may be running, and figures are without ${isOne ? 'it' : 'them'}.`
    return [{ id: 'away', tone: 'warn', title, text, ...seeing }]
  }
  const names = away.length === 0 ? `${count} ${isOne ? 'node' : 'nodes'}` : namesOf(away)
  const them = isOne ? 'it' : 'them'
  const listed = `Nodes that end without saying so are listed for ten minutes, or until one of their name is started.`
  const text = `Nothing was heard of ${them} for five seconds or longer. Figures are without ${them}. ${listed}`
  return [{ id: 'away', tone: 'warn', title: `${names} ${isOne ? 'is' : 'are'} away`, text, ...seeing }]
}

function databaseTroubles(frame: LiveFrame | undefined): Trouble[] {
  if (frame?.database !== 'away') return []
  return [
    {
      ...{ id: 'database', tone: 'warn', title: 'The database cannot be reached' },
      text: 'The last known limits, blocks and tiers stay in force. Changes are refused until it recovers.',
      ...{ href: '/nodes', link: 'See the nodes' },
    },
  ]
}

function ruleTroubles(nodes: readonly Node[]): Trouble[] {
  const common = ruleVersionOf(nodes)
  const others = nodes.filter((node) => hasOtherRules(node, common))
  if (others.length === 0) return []
  const isOne = others.length === 1
  return [
    {
      ...{ id: 'rules', tone: 'warn' },
      title:
        common === undefined
          ? 'Nodes decide by different rules'
          : `${namesOf(others)} ${isOne ? 'decides' : 'decide'} by other rules`,
      text: 'The same request may pass on one node and be refused on another.',
      href: isOne ? nodeHref(others[0].id) : '/nodes',
      link: isOne ? 'See the node' : 'See the nodes',
    },
  ]
}

/** Two nodes of one name look the same, and a restart of one would hide that the other has died. */
function nameTroubles(nodes: readonly Node[]): Trouble[] {
  const running = nodes.filter(({ is_away }) => !is_away).map(({ name }) => name)
  const twice = running.find((name, i) => running.indexOf(name) !== i)
  if (twice === undefined) return []
  return [
    {
      ...{ id: 'names', tone: 'warn', title: `Several nodes are called ${twice}` },
      text: 'Give each node a unique name, which stays the same after a restart: --node-name.',
      ...{ href: '/nodes', link: 'See the nodes' },
    },
  ]
}

/** namesOf names a few nodes. */
function namesOf(nodes: readonly Node[]): string {
  const names = nodes.slice(0, 2).map(({ name }) => name)
  const more = nodes.length - names.length
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(' and ')
}

/** bytesText shortens an amount of memory. */
export function bytesText(bytes: number): string {
  if (bytes < 2 ** 20) return `${Math.round(bytes / 2 ** 10)} KiB`
  if (bytes < 2 ** 30) return `${Math.round(bytes / 2 ** 20)} MiB`
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`
}
