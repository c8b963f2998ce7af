import type { ErrorCode } from 'sluice/internal/core/errors'
import { schemaPart } from 'sluice/internal/core/schema/json-schema'
import type { Schema } from 'sluice/internal/core/schema/schema'
import { statusOf } from '../../edge/http/write.ts'
import { ANY, list, named, needed, object, optional, WHOLE, WORDS } from '../../records/forms.ts'
import { API_PREFIX, queryOf } from './admin-api.ts'
import type { AnyOperation } from './operation.ts'
import { PREVIEW } from './previews.ts'
import { IN_FORCE } from './waits.ts'

type Json = Readonly<Record<string, unknown>>

const PROBLEM = named(
  'Problem',
  object({
    type: needed(WORDS),
    title: needed(WORDS),
    status: needed(WHOLE),
    detail: needed(WORDS),
    code: needed(WORDS, 'from the registry, docs/errors.md'),
    problems: optional(list(ANY), 'of rules: each problem with file, line, column, code, message and rule'),
    omitted: optional(WHOLE),
  }),
)

/** errorsOf is every error that an operation may be answered with. */
export function errorsOf(operation: AnyOperation): readonly ErrorCode[] {
  const codes: ErrorCode[] = [
    'ADMIN_REQUEST_INVALID',
    'CROSS_SITE_REQUEST',
    'HOST_UNKNOWN',
    'ADMIN_RATE_LIMITED',
    'ADMIN_FAILED',
  ]
  if (operation.role !== 'anyone') codes.push('ADMIN_TOKEN_REQUIRED', 'ROLE_INSUFFICIENT', 'QUOTAS_UNAVAILABLE')
  if (operation.body !== undefined) codes.push('CONTENT_TYPE_INVALID', 'ADMIN_BODY_TOO_LARGE')
  if (operation.ifMatch === 'required') codes.push('VERSION_REQUIRED', 'VERSION_STALE')
  if (operation.isPaged) codes.push('CURSOR_INVALID')
  if (operation.isCreation) {
    codes.push(
      'IDEMPOTENCY_KEY_INVALID',
      'IDEMPOTENCY_KEY_REUSED',
      'IDEMPOTENCY_IN_PROGRESS',
      'IDEMPOTENCY_KEYS_TOO_MANY',
    )
  }
  return [...new Set([...codes, ...(operation.errors ?? [])])]
}

/** openApi describes operations as OpenAPI 3.1, from the schemas that their requests are checked by. */
export function openApi(operations: readonly AnyOperation[], version: string): Json {
  const schemas: Record<string, Json> = {}
  const write = (schema: Schema): Json => schemaPart(schema, schemas, '#/components/schemas/')
  const paths: Record<string, Record<string, Json>> = {}
  for (const operation of operations) {
    const path = `${API_PREFIX}${operation.path}`
    paths[path] ??= {}
    paths[path][operation.method.toLowerCase()] = operationJson(operation, write)
  }
  write(PROBLEM)
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice admin API', version },
    security: [{ token: [] }, { session: [] }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'sluice_session' },
      },
    },
  }
}

function operationJson(operation: AnyOperation, write: (schema: Schema) => Json): Json {
  const { id, tag, summary, role, body } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: role === 'anyone' ? 'Needs no token.' : `Needs the role ${role}.`,
    ...(role === 'anyone' && { security: [] }),
    parameters: parametersOf(operation, write),
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: write(body) } } },
    }),
    responses: responsesOf(operation, write),
  }
}

function parametersOf(operation: AnyOperation, write: (schema: Schema) => Json): Json[] {
  const { params = {}, ifMatch, isCreation, kind } = operation
  const header = (name: string, required: boolean, description: string): Json => ({
    name,
    in: 'header',
    required,
    description,
    schema: { type: 'string' },
  })
  return [
    ...Object.entries(params).map(([name, { schema, doc }]) => ({
      name,
      in: 'path',
      required: true,
      description: doc,
      schema: write(schema),
    })),
    ...Object.entries(queryOf(operation)).map(([name, { schema, required = false, doc }]) => ({
      name,
      in: 'query',
      required,
      description: doc,
      schema: write(schema),
    })),
    ...(ifMatch ? [header('If-Match', ifMatch === 'required', 'the ETag of the record as it was read, or *')] : []),
    ...(isCreation
      ? [header('Idempotency-Key', false, 'repeating a request with the same key does nothing twice')]
      : []),
    ...(kind === 'change'
      ? [
          header('Sluice-Reason', false, 'why; for the audit log, percent-encoded'),
          header('Prefer', false, 'wait=SECONDS is wait=all for so long, up to 10 seconds'),
        ]
      : []),
  ]
}

function responsesOf(operation: AnyOperation, write: (schema: Schema) => Json): Json {
  const { answer, kind } = operation
  const responses: Record<string, Json> = {}
  const ok = contentOf(operation, write)
  responses[answer.status] = {
    description: answer.status === 204 ? 'Done.' : 'What was asked for.',
    ...headersOf(operation),
    ...(ok !== undefined && { content: ok }),
  }
  if (kind === 'change') {
    const preview = write(PREVIEW)
    const dry = answer.status === 200 && answer.schema ? { oneOf: [write(answer.schema), preview] } : preview
    const base = responses[200] ?? { description: 'With dry_run: what would change.' }
    responses[200] = { ...base, content: { 'application/json': { schema: dry } } }
  }
  const problem = { 'application/problem+json': { schema: write(PROBLEM) } }
  for (const [status, codes] of byStatus(operation))
    responses[status] = { description: codes.join(', '), content: problem }
  return responses
}

function headersOf({ answer, kind }: AnyOperation): Json {
  const names = [...(answer.etag ? ['ETag'] : []), ...(kind === 'change' ? [IN_FORCE] : [])]
  if (names.length === 0) return {}
  return { headers: Object.fromEntries(names.map((name) => [name, { schema: { type: 'string' } }])) }
}

function contentOf({ answer }: AnyOperation, write: (schema: Schema) => Json): Json | undefined {
  const { schema, types = [] } = answer
  if (schema === undefined && types.length === 0) return undefined
  const others = types.map((type) => [type, { schema: { type: 'string' } }])
  return { ...(schema && { 'application/json': { schema: write(schema) } }), ...Object.fromEntries(others) }
}

function byStatus(operation: AnyOperation): Map<number, ErrorCode[]> {
  const found = new Map<number, ErrorCode[]>()
  for (const code of errorsOf(operation)) {
    // What is wrong with rules is listed, with another status than for a request that has not even the form.
    const status = code === 'RULE_INVALID' ? 422 : statusOf(code)
    found.set(status, [...(found.get(status) ?? []), code])
  }
  return found
}
