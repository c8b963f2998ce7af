import type { MadeChange } from '../../api/operations.ts'
import type { Marker } from '../../ui/plot.tsx'

/** What changes decisions about many callers, and has a marker. Overrides and blocks are about one caller each. */
const MARKED: readonly MadeChange['kind'][] = ['rules', 'rule_files', 'tiers', 'switches']

export const KIND_TEXTS: Readonly<Record<MadeChange['kind'], string>> = {
  rules: 'Rules',
  rule_files: 'Rule files',
  tiers: 'Tier',
  switches: 'Switch',
  overrides: 'Limit',
  blocks: 'Block',
}

export function markersOf(changes: readonly MadeChange[]): readonly Marker[] {
  return changes
    .filter(({ kind }) => MARKED.includes(kind))
    .map(({ at, kind, text, actor }) => ({
      atMs: Date.parse(at),
      text: kind === 'rule_files' ? text : `${text}, by ${actor}`,
    }))
}

/** auditHref leads to the audit log of such changes. Rule files are not changed through the API, and are not there. */
export const auditHref = ({ kind }: MadeChange): string | undefined =>
  kind === 'rule_files' ? undefined : `/audit?kind=${kind}`
