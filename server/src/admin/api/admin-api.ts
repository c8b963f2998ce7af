import type { IncomingMessage, ServerResponse } from 'node:http'
import { ERROR_RULES } from 'sluice/internal/core/error-rules'
import { SluiceError } from 'sluice/internal/core/errors'
import { problem } from 'sluice/internal/core/http/problem'
import { placeOf, RulesError } from 'sluice/internal/core/rules/problems'
import { type Bodies, ClientLeft } from '../../edge/http/body.ts'
import { requireJson, requireOwnSite } from '../../edge/http/web-pages.ts'
import { writeError, writeJson } from '../../edge/http/write.ts'
import type { Actor } from '../../quotas/audit/actor.ts'
import type { IdempotencyStore } from '../../quotas/tables/idempotency-keys.ts'
import { type Identity, requireRole } from '../access/roles.ts'
import { Throttled } from '../access/throttle.ts'
import { PREVIEW } from './change.ts'
import type { Cursors } from './cursors.ts'
import { etagOf, versionOf } from './etag.ts'
import { answeredOnce, idempotencyKeyOf, type WrittenAnswer } from './idempotency.ts'
import { type AnyOperation, type Call, type Change, HANDLED, type QueryParam, type Reply } from './operation.ts'
import type { AdminParts } from './parts.ts'
import { ACCESS } from './parts.ts'
import { type Match, MethodInvalid, PathTable } from './paths.ts'
import { previewReply } from './previews.ts'
import { readJson, readParams, readQuery } from './read-input.ts'
import { invalid } from './values.ts'
import { CONFIRMATIONS, IN_FORCE, inForceField, waitMsOf } from './waits.ts'

export const API_PREFIX = '/admin/v1'

/** What every list and every change takes in addition to its own parameters. */
export const PAGE_QUERY = {
  cursor: { schema: { kind: 'text', min: 1, max: 2_048 }, doc: 'next_cursor of the page before' },
  page_size: {
    schema: { kind: 'integer', min: 1, max: 500 },
    doc: 'how many records a page has; 50 by default',
  },
} as const satisfies Readonly<Record<string, QueryParam>>

export const CHANGE_QUERY = {
  dry_run: {
    schema: { kind: 'choice', of: ['true', 'false'] },
    doc: 'true: nothing is changed, and the answer says what would be (Preview)',
  },
  wait: {
    schema: { kind: 'choice', of: ['all'] },
    doc: 'all: the answer comes when every node decides by the change, or after 5 seconds; Sluice-In-Force says which do',
  },
} as const satisfies Readonly<Record<string, QueryParam>>

/** queryOf is every parameter that an operation takes. */
export function queryOf({ query = {}, isPaged, kind }: AnyOperation): Readonly<Record<string, QueryParam>> {
  return { ...query, ...(isPaged && PAGE_QUERY), ...(kind === 'change' && CHANGE_QUERY) }
}

export interface AdminApiParts {
  readonly parts: AdminParts
  readonly cursors: Cursors
  readonly idempotency: IdempotencyStore
  readonly bodies: Bodies
  nowMs(): number
  /** Receives internal errors. */
  failed(error: unknown): void
}

const MAX_BODY_BYTES = 65_536

/**
 * AdminApi answers the operations of a table: who asks, whether they may, whether what they send has the form, and then
 * does it.
 */
export class AdminApi {
  readonly #parts: AdminApiParts
  readonly #paths: PathTable

  constructor(operations: readonly AnyOperation[], parts: AdminApiParts) {
    this.#parts = parts
    this.#paths = new PathTable(API_PREFIX, operations)
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      response.setHeader('Cache-Control', 'no-store')
      await this.#answer(request, response)
    } catch (error) {
      this.#refuse(response, error)
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? ''
    const match = this.#paths.find(request.method ?? '', url.split('?', 1)[0])
    const identity = await this.#admit(request, match.operation)
    const { call, isDryRun, waitMs, bodyText } = await this.#callOf(request, response, match, identity)
    const { operation } = match
    if (operation.kind === 'look') {
      const reply = await operation.run(call as never)
      if (reply !== HANDLED) send(response, written(operation, reply))
      return
    }
    const plan = (): Promise<Change> => operation.plan(call as never)
    if (isDryRun) {
      const reply = await previewReply(this.#parts.parts.find(PREVIEW), await plan())
      return send(response, { ...written(operation, reply), status: 200 })
    }
    const commit = async (): Promise<WrittenAnswer> => written(operation, await (await plan()).commit())
    const key = operation.isCreation && idempotencyKeyOf(request.headers['idempotency-key'])
    const asked = key && { owner: identity.id, key, path: `${operation.method} ${url}`, body: bodyText }
    const answer = asked
      ? await answeredOnce(this.#parts.idempotency, asked, commit)
      : { ...(await commit()), isRepeated: false }
    if (answer.isRepeated) response.setHeader('Idempotency-Replayed', 'true')
    if (waitMs !== undefined) response.setHeader(IN_FORCE, await this.#inForce(operation, waitMs))
    send(response, answer)
  }

  /** #inForce waits for other nodes. The change is made by then, whatever becomes of that. */
  async #inForce({ isUnconfirmed }: AnyOperation, waitMs: number): Promise<string> {
    return inForceField(isUnconfirmed ? undefined : await this.#parts.parts.find(CONFIRMATIONS)?.wait(waitMs))
  }

  async #admit(request: IncomingMessage, { role }: AnyOperation): Promise<Identity> {
    if (role === 'anyone') {
      requireOwnSite(request)
      return { id: 'anyone', name: 'anyone', role: 'viewer', via: 'loopback' }
    }
    const identity = await this.#parts.parts.get(ACCESS).identify(request)
    requireRole(identity, role)
    return identity
  }

  async #callOf(request: IncomingMessage, response: ServerResponse, match: Match, identity: Identity) {
    const { operation, params } = match
    const { parts, bodies } = this.#parts
    const query = readQuery(request.url ?? '', queryOf(operation))
    const checked = readParams(params, operation.params ?? {})
    const version = versionOf(
      operation.ifMatch === undefined ? undefined : request.headers['if-match'],
      operation.ifMatch === 'required',
    )
    let bodyText = ''
    let body: unknown
    if (operation.body !== undefined) {
      requireJson(request, false)
      bodyText = await bodies.read(request, operation.maxBodyBytes ?? MAX_BODY_BYTES, 'ADMIN_BODY_TOO_LARGE')
      body = readJson(bodyText, operation.body)
    }
    const call: Call = {
      parts,
      identity,
      by: actorOf(request, identity, body),
      params: checked as Call['params'],
      query: query as Call['query'],
      body,
      version,
      nowMs: this.#parts.nowMs(),
      cursor: this.#cursorOf(operation, checked, query),
      request,
      response,
    }
    return { call, isDryRun: query.dry_run === 'true', waitMs: waitMsOf(request, query.wait), bodyText }
  }

  #cursorOf(operation: AnyOperation, params: object, query: Readonly<Record<string, string | number>>): Call['cursor'] {
    const { cursor, page_size: _, ...filter } = query
    const about = JSON.stringify([operation.id, params, Object.entries(filter).sort()])
    const { cursors } = this.#parts
    return {
      after: cursor === undefined ? undefined : cursors.read(String(cursor), about),
      next: (from) => (from === undefined ? null : cursors.seal(from, about)),
    }
  }

  #refuse(response: ServerResponse, error: unknown): void {
    if (error instanceof ClientLeft) return
    if (error instanceof RulesError) {
      writeRuleProblems(response, error)
      return
    }
    if (error instanceof Throttled) response.setHeader('Retry-After', error.retryAfterSeconds)
    if (error instanceof MethodInvalid) response.setHeader('Allow', error.allow)
    if (error instanceof SluiceError) {
      writeError(response, error)
      return
    }
    this.#parts.failed(error)
    if (response.headersSent) response.destroy()
    else writeError(response, new SluiceError('ADMIN_FAILED', 'admin', 'the request was not answered'))
  }
}

const MAX_REASON_CHARACTERS = 500

/**
 * actorOf is who will stand in the audit log. The reason is a field of the body, or the header Sluice-Reason,
 * percent-encoded.
 */
function actorOf({ headers, socket }: IncomingMessage, { id, name }: Identity, body: unknown): Actor {
  const inBody = (body as { reason?: string | null } | undefined)?.reason
  const reason = inBody ?? reasonOf(headers['sluice-reason'])
  return { id, name, address: socket.remoteAddress, reason: reason ?? undefined }
}

function reasonOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined
  let text: string
  try {
    text = decodeURIComponent(header)
  } catch {
    throw invalid('sluice-reason', 'not percent-encoded UTF-8')
  }
  if (text.length > MAX_REASON_CHARACTERS)
    throw invalid('sluice-reason', `more than ${MAX_REASON_CHARACTERS} characters`)
  return text
}

function written({ answer }: AnyOperation, { body, version, headers = {}, text }: Reply): WrittenAnswer {
  const shown = version === undefined ? headers : { ...headers, ETag: etagOf(version) }
  if (text !== undefined)
    return { status: answer.status, headers: { ...shown, 'Content-Type': text.type }, body: text.text }
  if (body === undefined) return { status: answer.status, headers: shown, body: '' }
  const json = { ...shown, 'Content-Type': 'application/json' }
  return { status: answer.status, headers: json, body: `${JSON.stringify(body)}\n` }
}

function send(response: ServerResponse, { status, headers, body }: WrittenAnswer): void {
  const length = status === 204 ? {} : { 'Content-Length': Buffer.byteLength(body) }
  response.writeHead(status, { ...headers, ...length })
  response.end(body)
}

/** writeRuleProblems answers with everything that is wrong with rules, as `sluice check --json` lists it. */
function writeRuleProblems(response: ServerResponse, { errors, omitted, message }: RulesError): void {
  const problems = errors.map((error) => {
    const { file, line, column } = placeOf(error)
    const { code, detail } = error
    return { file, line: line || null, column: column || null, code, message: detail, rule: ERROR_RULES[code] }
  })
  const about = problem(422, 'Unprocessable Content', message, 'RULE_INVALID')
  writeJson(response, 422, 'application/problem+json', { ...about, problems, omitted })
}
