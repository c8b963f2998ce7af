import type { AuditEntry, AuditLog } from '../../quotas/audit/audit-log.ts'
import { type Offered, partKey } from '../api/parts.ts'

/** A MadeChange is a change of what is decided, for people. */
export interface MadeChange {
  readonly atMs: number
  /** The kind of what was changed, as the audit log has it, or `rule_files`. */
  readonly kind: string
  readonly text: string
  /** The name of who made it. */
  readonly actor: string
}

/** The kinds of records whose changes are listed: the kinds that decide about requests. */
const KINDS = ['rules', 'tiers', 'switches', 'overrides', 'blocks'] as const
const PAGE = 500

/** The moment when other rule files came into force: files that were changed, added or removed. */
export interface FileChange {
  readonly atMs: number
  readonly files: readonly string[]
}

export interface MadeChangesParts {
  /** Undefined: there is no database. */
  readonly audit: Pick<AuditLog, 'list'> | undefined
  /** files are the changes of rule files that this node has seen, the newest first. */
  readonly files: () => readonly FileChange[]
}

/** Lists the changes in the audit log, and changes of rule files, which are not in it. */
export class MadeChanges {
  readonly #parts: MadeChangesParts

  constructor(parts: MadeChangesParts) {
    this.#parts = parts
  }

  async since(sinceMs: number, limit: number): Promise<readonly MadeChange[]> {
    const { audit, files } = this.#parts
    const page = await audit?.list({ kinds: KINDS, fromMs: sinceMs, limit: Math.min(limit, PAGE) })
    const ofFiles = files().filter(({ atMs }) => atMs >= sinceMs)
    const all = [...(page?.items ?? []).map(changeOf), ...ofFiles.map(fileChangeOf)]
    return all.sort((a, b) => b.atMs - a.atMs).slice(0, limit)
  }
}

function fileChangeOf({ atMs, files }: FileChange): MadeChange {
  const named = files.slice(0, MAX_FILES).join(', ')
  const more = files.length > MAX_FILES ? ` and ${files.length - MAX_FILES} more` : ''
  return { atMs, kind: 'rule_files', text: `rule files: ${named}${more}`, actor: 'rule files' }
}

const MAX_FILES = 5

function changeOf(entry: AuditEntry): MadeChange {
  const { atMs, target, actor } = entry
  return { atMs, kind: target.kind, text: textOf(entry), actor: actor.name }
}

type Fields = Readonly<Record<string, unknown>>

/** Puts an entry into words. Entries are never rewritten: older ones may have other fields. */
function textOf(entry: AuditEntry): string {
  const { action, target } = entry
  const [before, after] = [fieldsOf(entry.before), fieldsOf(entry.after)]
  const record = after ?? before
  const isGone = entry.after === undefined
  switch (target.kind) {
    case 'rules':
      return after?.version === undefined ? `rules: ${action}` : `rules: version ${after.version}`
    case 'tiers':
      return isGone ? `tier ${target.id} removed` : `tier ${target.id} ${before === undefined ? 'made' : 'changed'}`
    case 'switches': {
      const rule = target.id === '*' ? 'every rule' : target.id
      return isGone ? `${rule}: switch removed` : `${rule}: ${after?.mode}`
    }
    case 'overrides': {
      const whose = ownerOf(fieldsOf(record?.subject), entry.customerId)
      const limit = `${record?.requestsPerUnit} per ${record?.unit}`
      return isGone ? `override of ${whose} removed: ${limit}` : `override of ${whose}: ${limit}`
    }
    case 'blocks':
      return `${isGone ? 'unblocked' : 'blocked'} ${ownerOf(fieldsOf(record?.subject), entry.customerId)}`
    default:
      return `${action} ${target.id}`
  }
}

function ownerOf(subject: Fields | undefined, customerId: string | undefined): string {
  if (subject?.kind === 'cidr') return String(subject.cidr)
  if (subject?.kind === 'key') return `key ${subject.keyId}${customerId === undefined ? '' : ` of ${customerId}`}`
  return customerId ?? String(subject?.customerId ?? 'no one')
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined
}

export const CHANGES = partKey<Offered<MadeChanges>>('changes')
