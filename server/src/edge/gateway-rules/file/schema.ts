import { MAX_COUNT } from 'sluice/internal/core/limit'
import { LIMIT_OPTIONS } from 'sluice/internal/core/limit-options'
import type { Field, ObjectValue, RefSchema, Schema, Value } from 'sluice/internal/core/schema/schema'
import { PRIORITY_WORDS } from 'sluice/internal/core/shedding/priority'

/** The most that a body is looked into before the limits are asked. */
export const MAX_PEEK_BYTES = 65_536

const BOOLEAN = { kind: 'boolean' } as const
const TEXT = { kind: 'text', min: 1, max: 4_096 } as const
const COUNT = { kind: 'integer', min: 0, max: MAX_COUNT } as const
const DURATION = {
  kind: 'either',
  of: [
    { kind: 'text', max: 64 },
    { kind: 'integer', min: 0 },
  ],
  expected: 'expected a duration such as 90s, or milliseconds',
} as const
const RATE = { kind: 'text', min: 1, max: 64 } as const
const FIELD = {
  kind: 'text',
  pattern: /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/,
  whenOther: 'expected the name of a field',
} as const
/** Names go into descriptors, where `*` stands for anything. */
const NAME = { kind: 'text', min: 1, max: 128, pattern: /^[^*\p{Cc}]*$/u, whenOther: 'a name has no *' } as const
const JSON_PATH = {
  kind: 'text',
  min: 1,
  max: 256,
  pattern: /^[^.\s]+(\.[^.\s]+){0,7}$/,
  whenOther: 'expected names with dots between them, such as usage.total_tokens',
} as const

/** The words for whose budget a limit is. */
export const OWNER_WORDS = ['ip', 'subnet', 'api_key', 'user', 'tenant', 'everyone'] as const
/** The other words for what a request is about. */
export const REQUEST_WORDS = ['tier', 'method', 'path', 'host', 'route'] as const

const PART_FIELDS = {
  header: { schema: FIELD, doc: 'The value of a field of the request' },
  parameter: { schema: TEXT, doc: "What {name} stands for in the route's path" },
  json: { schema: JSON_PATH, doc: 'A text or a number in the JSON body: user.email' },
  form: { schema: TEXT, doc: 'A field of a form (application/x-www-form-urlencoded)' },
} as const satisfies Readonly<Record<string, Field>>

const OWNER_PART = { kind: 'object', doc: 'A part of the request', fields: PART_FIELDS } as const
const PARTS_EXPECTED = `${OWNER_WORDS.join(', ')}, {header: NAME}, {parameter: NAME}, {json: PATH} or {form: NAME}`
const MEMBER = {
  kind: 'either',
  of: [{ kind: 'choice', of: OWNER_WORDS }, OWNER_PART],
  expected: `expected ${PARTS_EXPECTED}`,
} as const
const OWNER_FIELDS = {
  ...PART_FIELDS,
  all: {
    schema: { kind: 'list', of: MEMBER, min: 2, max: 4 },
    doc: 'Each combination of these has a budget: an account from one address',
  },
} as const satisfies Readonly<Record<string, Field>>
const OWNER = {
  kind: 'either',
  of: [
    { kind: 'choice', of: OWNER_WORDS },
    { kind: 'object', doc: 'A part of the request, or several together', fields: OWNER_FIELDS },
  ],
  expected: `expected ${PARTS_EXPECTED.replace(' or ', ', ')} or {all: […]}`,
} as const
const BY = {
  kind: 'either',
  of: [OWNER, { kind: 'list', of: OWNER, min: 1, max: 8 }],
  expected: OWNER.expected,
} as const

const ENTRY_FIELDS = {
  key: { schema: { kind: 'text', min: 1, max: 256 }, required: true, doc: 'The key of the entry' },
  value: { schema: { kind: 'text', max: 4_096 }, doc: 'A value that is always the same' },
  ...PART_FIELDS,
} as const satisfies Readonly<Record<string, Field>>
const ENTRY = {
  kind: 'either',
  of: [
    { kind: 'choice', of: [...OWNER_WORDS, ...REQUEST_WORDS] },
    { kind: 'object', doc: 'An entry of a descriptor', fields: ENTRY_FIELDS },
  ],
  expected: 'expected a word such as ip, or {key: KEY, header: NAME}',
} as const

const SETTLE = {
  kind: 'object',
  doc: 'Where the real cost stands in the answer',
  fields: {
    header: { schema: FIELD, doc: 'A field of the answer' },
    json: { schema: JSON_PATH, doc: 'A number in the JSON body: usage.total_tokens' },
    sse: { schema: JSON_PATH, doc: 'A number in the data of the last event that has it' },
  },
} as const

const RESERVE = {
  kind: 'either',
  of: [
    COUNT,
    {
      kind: 'object',
      doc: 'An estimate out of the request',
      fields: {
        json: { schema: JSON_PATH, required: true, doc: 'A number in the JSON body: max_tokens' },
        default: { schema: COUNT, doc: 'Where it is not there. Default: min' },
        min: {
          schema: { kind: 'integer', min: 1, max: MAX_COUNT },
          doc: 'No less than this, whatever the request says. Default: a hundredth of the limit, and no more than default',
        },
        max: { schema: COUNT, doc: 'No more than this' },
      },
    },
  ],
  expected: 'expected a number, or {json: PATH, default: NUMBER, min: NUMBER, max: NUMBER}',
} as const

const ESCALATE = {
  kind: 'object',
  doc: 'What happens to persistent callers: a delay near the limit, a block for callers that do not stop',
  fields: {
    delay: { schema: DURATION, doc: 'Requests near the limit are held for this long' },
    delay_from: {
      schema: { kind: 'number', above: 0, max: 1 },
      doc: 'The share of the limit that is near. Default: 0.8',
    },
    block_after: {
      schema: { kind: 'integer', min: 1, max: MAX_COUNT },
      doc: 'So many refusals within block_for lead to a block',
    },
    block_for: {
      schema: {
        kind: 'either',
        of: [DURATION, { kind: 'list', of: DURATION, min: 1, max: 8 }],
        expected: 'expected a duration such as 10m, or a list of them: [1m, 10m, 1h]',
      },
      doc: 'For how long, from the last of these refusals on; of a list, the first block, the second, and so on',
    },
    forgive_after: {
      schema: DURATION,
      doc: 'With a list: a block counts for this long towards the next one. Default: 1d',
    },
  },
} as const

const STATUS = {
  kind: 'either',
  of: [
    { kind: 'integer', min: 100, max: 599 },
    { kind: 'choice', of: ['1xx', '2xx', '3xx', '4xx', '5xx'] },
  ],
  expected: 'expected a status such as 401, or 4xx',
} as const

/** The options of a gateway's limit that the rule language does not have. */
export const OWN_LIMIT_FIELDS = {
  by: {
    schema: BY,
    doc: 'Whose budget it is: of a list the first that a request has, the address in the end; {all: […]} is several together',
  },
  shadow_mode: { schema: BOOLEAN, doc: 'Report, but never refuse' },
  on_status: {
    schema: { kind: 'list', of: STATUS, min: 1, max: 64 },
    doc: 'Only requests that are answered so count; what others took is given back',
  },
  reserve: { schema: RESERVE, doc: 'What a request takes before its real cost is known' },
  settle: { schema: SETTLE, doc: 'Where the real cost stands in the answer' },
  queue: {
    schema: { kind: 'integer', min: 1, max: 10_000 },
    doc: 'leaky_bucket: how many requests of a caller wait their turn instead of being refused',
  },
  escalate: { schema: ESCALATE, doc: 'Delay, refuse, block' },
} as const satisfies Readonly<Record<string, Field>>

const LIMIT_FIELDS = { ...LIMIT_OPTIONS, ...OWN_LIMIT_FIELDS } as const

/** One limit of a gateway, as its author writes it. */
export type LimitObject = ObjectValue<typeof LIMIT_FIELDS>

const LIMIT_OBJECT: Schema = { kind: 'object', doc: 'One limit', fields: LIMIT_FIELDS }
const LIMIT: RefSchema<LimitObject> = { kind: 'ref', name: 'limit', to: () => LIMIT_OBJECT }
const LIMITS = {
  kind: 'list',
  of: { kind: 'either', of: [RATE, LIMIT], expected: 'expected a limit, or a rate such as 100/1m' },
  min: 1,
  max: 16,
} as const

const PLACES = { kind: 'integer', min: 1, max: 65_536 } as const
const CONCURRENCY = {
  kind: 'either',
  of: [
    { kind: 'choice', of: ['adaptive', 'off'] },
    PLACES,
    {
      kind: 'object',
      fields: {
        min: { schema: PLACES, doc: 'Never fewer. Default: 4' },
        max: { schema: PLACES, doc: 'Never more. Default: max_connections' },
      },
    },
  ],
  expected: 'expected adaptive, off, a number, or {min: NUMBER, max: NUMBER}',
} as const

const UPSTREAM_FIELDS = {
  addresses: { schema: { kind: 'list', of: TEXT, min: 1, max: 256 }, required: true, doc: 'http://host:port' },
  http2: { schema: BOOLEAN, doc: 'It speaks HTTP/2: what gRPC needs. Default: false' },
  ca_file: { schema: TEXT, doc: 'For https: the authority that its certificate is signed by' },
  cert_file: { schema: TEXT, doc: 'For https: the client certificate of the gateway' },
  key_file: { schema: TEXT, doc: 'For https: its key' },
  server_name: { schema: TEXT, doc: 'For https: the name that its certificate is made out to' },
  health: {
    schema: {
      kind: 'object',
      fields: {
        path: { schema: TEXT, required: true },
        every: { schema: DURATION, doc: 'Default: 10s' },
        timeout: { schema: DURATION, doc: 'Default: 2s' },
        failures: {
          schema: { kind: 'integer', min: 1, max: 100 },
          doc: 'In a row, to take an address out. Default: 3',
        },
        successes: { schema: { kind: 'integer', min: 1, max: 100 }, doc: 'In a row, to bring it back. Default: 2' },
      },
    },
    doc: 'Ask each address whether it is well',
  },
  max_connections: { schema: { kind: 'integer', min: 1, max: 65_536 }, doc: 'To each address. Default: 256' },
  max_waiting: { schema: { kind: 'integer', min: 0, max: 65_536 }, doc: 'Requests that wait for one. Default: 256' },
  keep_alive: { schema: DURATION, doc: 'Idle connections are closed after this. Default: 4s' },
  concurrency: {
    schema: CONCURRENCY,
    doc: 'Concurrent requests; above it 503 by priority. adaptive, the default, derives the number from how long they take',
  },
  eject_after: { schema: { kind: 'integer', min: 0, max: 1_000 }, doc: 'Failures in a row. 0: never. Default: 5' },
} as const satisfies Readonly<Record<string, Field>>
const UPSTREAM = {
  kind: 'either',
  of: [
    TEXT,
    { kind: 'list', of: TEXT, min: 1, max: 256 },
    { kind: 'object', doc: 'A service', fields: UPSTREAM_FIELDS },
  ],
  expected: 'expected an address such as http://localhost:3000, a list of them, or {addresses: […]}',
} as const

const IDENTITY_FIELDS = {
  api_key: {
    schema: {
      kind: 'either',
      of: [
        BOOLEAN,
        {
          kind: 'object',
          fields: {
            header: { schema: FIELD, doc: 'Default: x-api-key' },
            bearer: { schema: BOOLEAN, doc: 'Authorization: Bearer too. Default: true' },
            query: { schema: TEXT, doc: 'A parameter of the query too. Default: none' },
          },
        },
      ],
      expected: 'expected true, or {header: NAME, bearer: true, query: NAME}',
    },
    doc: 'API keys identify callers. They are not verified: add a limit by ip',
  },
  jwt: {
    schema: {
      kind: 'object',
      fields: {
        jwks_url: { schema: TEXT, doc: 'Where public keys are fetched from' },
        public_key_file: { schema: TEXT, doc: 'A public key in PEM' },
        secret_env: { schema: TEXT, doc: 'The variable that has the shared secret' },
        algorithms: { schema: { kind: 'list', of: TEXT, min: 1 } },
        issuer: { schema: TEXT },
        audience: { schema: TEXT },
      },
    },
    doc: 'Tokens identify callers. They are verified',
  },
  claims: {
    schema: {
      kind: 'object',
      fields: { user: { schema: TEXT }, tenant: { schema: TEXT }, tier: { schema: TEXT } },
    },
    doc: 'Which claims say what. Default: sub is the user',
  },
  ipv4_prefix: { schema: { kind: 'integer', min: 1, max: 32 }, doc: 'Default: 32' },
  ipv6_prefix: { schema: { kind: 'integer', min: 1, max: 128 }, doc: 'Default: 64' },
} as const satisfies Readonly<Record<string, Field>>

const TIMES = {
  kind: 'object',
  fields: {
    connect: { schema: DURATION, doc: 'Default: 5s' },
    body_idle: { schema: DURATION, doc: 'Default: 30s' },
    first_byte: { schema: DURATION, doc: 'Default: 60s' },
    idle: { schema: DURATION, doc: 'Default: 5m' },
    total: { schema: DURATION, doc: 'Default: 0, without end' },
  },
} as const

const PRIORITY = {
  kind: 'either',
  of: [
    { kind: 'integer', min: 0, max: 3 },
    { kind: 'choice', of: PRIORITY_WORDS },
  ],
  expected: `expected ${PRIORITY_WORDS.join(', ')}, or 0 to 3`,
} as const

/** What a route says about paths, or a file for all of its routes. */
const PATH_FIELDS = {
  case_sensitive: { schema: BOOLEAN, doc: '/Login is another path than /login. Default: false' },
  encoded_slashes: {
    schema: { kind: 'choice', of: ['refuse', 'keep'] },
    doc: 'What becomes of %2F and %5C in a path: 400, or they are a part of their segment. Default: refuse',
  },
  forward_path: {
    schema: { kind: 'choice', of: ['canonical', 'as_sent'] },
    doc: "The path that the upstream gets: the path that selected the route, or the client's. Default: canonical",
  },
} as const satisfies Readonly<Record<string, Field>>
const OFF = { kind: 'choice', of: ['off'] } as const

const ROUTE_FIELDS = {
  name: { schema: NAME, doc: 'What logs, metrics and counters call it. Default: made of methods, host and path' },
  host: { schema: TEXT, doc: 'api.example.com, *.example.com or *. Default: *' },
  path: { schema: TEXT, doc: '/users/{id}, or /files/* for everything below. Default: /*' },
  methods: { schema: { kind: 'list', of: TEXT, min: 1, max: 32 }, doc: 'Default: all' },
  upstream: { schema: TEXT, doc: 'Default: the only one' },
  limits: { schema: LIMITS, doc: 'All of them apply' },
  domain: { schema: TEXT, doc: 'The rules of this domain apply (--rules)' },
  descriptors: {
    schema: { kind: 'list', of: { kind: 'list', of: ENTRY, min: 1, max: 16 }, min: 1, max: 32 },
    doc: 'What the rules of the domain are asked about. Default: all that is known of the caller',
  },
  cost: { schema: COUNT, doc: 'How much a request takes. Default: 1' },
  priority: {
    schema: PRIORITY,
    doc: '0 is never shed under load, 3 first. Default: what rules say, else 2 for reads and 1 for the rest',
  },
  unlimited: { schema: BOOLEAN, doc: 'It is meant to have no limit' },
  max_body: {
    schema: { kind: 'integer', min: 0, max: Number.MAX_SAFE_INTEGER },
    doc: 'Bytes. Default: 10 MiB; peek, where limits look into bodies',
  },
  peek: {
    schema: { kind: 'integer', min: 1, max: MAX_PEEK_BYTES },
    doc: 'Bytes of the body, for json and form. Default: 16384',
  },
  retries: { schema: { kind: 'integer', min: 0, max: 5 }, doc: 'Of safe requests. Default: 1' },
  times: { schema: TIMES },
  ...PATH_FIELDS,
} as const satisfies Readonly<Record<string, Field>>

const FILE_FIELDS = {
  upstreams: {
    schema: { kind: 'map', keys: NAME, of: UPSTREAM },
    required: true,
    doc: 'The services behind the gateway',
  },
  routes: {
    schema: { kind: 'list', of: { kind: 'object', doc: 'A route', fields: ROUTE_FIELDS }, min: 1, max: 10_000 },
    doc: 'Which requests go where. Default: all to the only upstream',
  },
  limits: { schema: LIMITS, doc: 'On every request, whatever its route' },
  unlimited: { schema: BOOLEAN, doc: 'Routes without limits are meant' },
  ...PATH_FIELDS,
  identity: { schema: { kind: 'object', doc: 'Who is calling', fields: IDENTITY_FIELDS } },
  trusted_proxies: {
    schema: {
      kind: 'either',
      of: [
        { kind: 'integer', min: 0, max: 32 },
        { kind: 'list', of: TEXT, min: 1, max: 1_000 },
      ],
      expected: 'expected how many proxies stand in front, or a list of their addresses',
    },
    doc: 'Whose word about the client counts. Read at the start',
  },
  pass_headers: {
    schema: { kind: 'list', of: FIELD, min: 1, max: 100 },
    doc: 'Fields that are removed unless a trusted proxy sends them, and that clients may send here',
  },
  forwarded_header: { schema: { kind: 'choice', of: ['x-forwarded-for', 'forwarded'] } },
  priority_header: {
    schema: {
      kind: 'either',
      of: [
        FIELD,
        {
          kind: 'object',
          fields: {
            name: { schema: FIELD, required: true },
            from: {
              schema: {
                kind: 'either',
                of: [
                  { kind: 'choice', of: ['proxies'] },
                  { kind: 'list', of: TEXT, min: 1, max: 1_000 },
                ],
                expected: 'expected proxies, or a list of networks',
              },
              doc: 'Networks of trusted callers, or proxies: what trusted proxies forward. Default: the networks of trusted proxies',
            },
          },
        },
      ],
      expected: 'expected the name of a field, or {name: NAME, from: [NETWORK]}',
    },
    doc: 'By which trusted callers say how much a request matters: critical, write, read or test',
  },
  ceiling: {
    schema: {
      kind: 'either',
      of: [
        OFF,
        {
          kind: 'object',
          fields: {
            requests: {
              schema: RATE,
              doc: 'Of all clients together: 5000/1s, or off. Above it 503. Default: 50000/1s',
            },
            per_ip: { schema: RATE, doc: 'Of one address: 200/1s, or off. Above it 429. Default: 10000/1s' },
          },
        },
      ],
      expected: 'expected off, or {requests: RATE, per_ip: RATE}',
    },
    doc: 'What one process takes at all, counted in its memory before anything else',
  },
  queue: {
    schema: {
      kind: 'object',
      doc: 'How many requests one process holds back, and for how long',
      fields: {
        requests: { schema: { kind: 'integer', min: 0, max: 100_000 }, doc: 'Of everybody. Default: 1000' },
        per_caller: { schema: { kind: 'integer', min: 0, max: 100_000 }, doc: 'Of one address. Default: 100' },
        longest: { schema: DURATION, doc: 'Default: 30s' },
      },
    },
  },
} as const satisfies Readonly<Record<string, Field>>

/** The schema of a routes file. */
export const ROUTES_FILE = { kind: 'object', doc: 'What a gateway does', fields: FILE_FIELDS } as const satisfies Schema

/** A routes file as its author writes it. */
export type RoutesFile = ObjectValue<typeof FILE_FIELDS>
export type RouteObject = ObjectValue<typeof ROUTE_FIELDS>
export type UpstreamObject = ObjectValue<typeof UPSTREAM_FIELDS>
export type IdentityObject = ObjectValue<typeof IDENTITY_FIELDS>
export type OwnerForm = Value<typeof OWNER>
export type EntryForm = Value<typeof ENTRY>
export type MemberForm = Value<typeof MEMBER>
export type PartForm = ObjectValue<typeof PART_FIELDS>
export type StatusForm = Value<typeof STATUS>
