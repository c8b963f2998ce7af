import type { Database } from '../database/database.ts'

/** Where nodes ask each other what they decide by, and say when they have written it. */
const CHANNEL = 'sluice_nodes'

/** A node that has written nothing for this long is forgotten: it holds up nothing any more. */
export const FORGOTTEN_MS = 600_000
/**
 * Nodes write once a second. One that is started again takes the place of one of its name that has been silent for
 * longer.
 */
const REPLACED_MS = 3_000

/** What a node writes about itself. */
export interface NodeEntry {
  /** Of one run. */
  readonly id: string
  /** The same after a restart. */
  readonly name: string
  /** Of the records that all of its processes decide by; -1: some have none yet. */
  readonly revision: number
  /** The version of the rules in the database that all of its processes decide by. */
  readonly rules: number
  /** Everything that it counted before is written. */
  readonly usageUntilMs: number
}

/** A NodeRow is the last that a node wrote. */
export interface NodeRow extends NodeEntry {
  /** How long ago that was, by the clock of the database. */
  readonly silentMs: number
}

/** What is in the database now. */
export type Latest = Pick<NodeEntry, 'revision' | 'rules'>

export interface NodeListener {
  /** A caller waits until nodes decide by this. */
  asked(target: Latest): void
  /** A node has written its row because it was asked, or such news may have been lost. */
  answered(): void
}

/** The table in which nodes report what they decide by. What counts is in the rows; notices only save time. */
export class NodeTable {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Writes a row; `isAnswer`: nodes that wait for it are notified. */
  async write({ id, name, revision, rules, usageUntilMs }: NodeEntry, isAnswer: boolean): Promise<void> {
    await this.#db.query(WRITE, [id, name, revision, rules, usageUntilMs, isAnswer])
  }

  /** Returns nodes that are not forgotten, however long they have been silent. */
  list(): Promise<readonly NodeRow[]> {
    return this.#db.query<NodeRow>(LIST, [FORGOTTEN_MS, REPLACED_MS])
  }

  /** Returns what changes up to now lead to. */
  async latest(): Promise<Latest> {
    const [latest] = await this.#db.query<Latest>(LATEST)
    return latest
  }

  /** Asks all nodes to say when they decide by this. */
  async ask({ revision, rules }: Latest): Promise<void> {
    await this.#db.query(`SELECT pg_notify('${CHANNEL}', $1)`, [`${revision} ${rules}`])
  }

  listen({ asked, answered }: NodeListener): () => void {
    const heard = (payload: string): void => {
      const target = targetIn(payload)
      if (target === undefined) answered()
      else asked(target)
    }
    return this.#db.listen(CHANNEL, heard, answered)
  }

  /** Removes a node that shuts down, and with it the rows that crashed nodes left behind. */
  async remove(id: string): Promise<void> {
    await this.#db.query(REMOVE, [id, FORGOTTEN_MS])
  }
}

function targetIn(payload: string): Latest | undefined {
  const [, revision, rules] = /^(\d{1,15}) (\d{1,9})$/.exec(payload) ?? []
  return revision === undefined ? undefined : { revision: Number(revision), rules: Number(rules) }
}

const ago = (ms: string): string => `now() - ${ms}::float8 * interval '1 millisecond'`

const WRITE = `INSERT INTO sluice.nodes AS node (id, name, revision, rules, usage_until)
VALUES ($1, $2, $3::int8, $4::int, to_timestamp($5::float8 / 1000))
ON CONFLICT (id) DO UPDATE SET name = excluded.name, alive_at = now(),
  revision = excluded.revision, rules = excluded.rules, usage_until = excluded.usage_until
RETURNING CASE WHEN $6::boolean THEN pg_notify('${CHANNEL}', '') END`

const LIST = `SELECT id, name, revision, rules, (extract(epoch FROM usage_until) * 1000)::int8 AS "usageUntilMs",
  (extract(epoch FROM now() - alive_at) * 1000)::int8 AS "silentMs"
FROM sluice.nodes AS node WHERE alive_at > ${ago('$1')} AND NOT EXISTS (
  SELECT FROM sluice.nodes AS newer
  WHERE newer.name = node.name AND newer.started_at > node.alive_at AND node.alive_at < ${ago('$2')}
) ORDER BY name, id`

// A change that found nothing to do leaves a revision that no node ever receives.
const LATEST = `SELECT (SELECT coalesce(max(revision), 0) FROM sluice.changes)::int8 AS revision,
  (SELECT coalesce(max(version), 0) FROM sluice.rate_limit_rules)::int AS rules`

const REMOVE = `DELETE FROM sluice.nodes WHERE id = $1 OR alive_at <= ${ago('$2')}`
