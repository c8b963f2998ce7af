import { describe, expect, it } from 'vitest'
import { detectFormat, fieldsOf, openFormat } from './formats.ts'
import { Times } from './times.ts'

const NGINX =
  '192.0.2.1 - ada [20/Nov/2026:10:00:05 +0100] "GET /items?page=2 HTTP/1.1" 200 512 "https://x/" "curl/8.5"'
const ENVOY =
  '[2026-11-20T09:00:05.310Z] "GET /items?page=2 HTTP/2" 200 - 0 13 5 4 "198.51.100.9, 192.0.2.1" "curl/8.5" "cc21d9b0" "api.example" "10.0.0.1:80"'
const AT = Date.UTC(2026, 10, 20, 9, 0, 5)

/** Reads one line, and returns its time with the fields that are there. */
function read(text: string, fields: readonly string[], header = '', given: Record<string, string> = {}) {
  const format = header === '' ? detectFormat('log', text) : 'csv'
  const { reader, slots } = openFormat({ format, header }, fields, new Map(Object.entries(given)))
  const values = new Array<string>(slots.size).fill('')
  // Lines stand in the middle of a block.
  const block = `{"time":1,"x":"]\n${text}\n] "GET / HTTP/1.1" 500 "\n`
  const start = block.indexOf('\n') + 1
  const timeMs = reader.read(block, start, start + text.length, values)
  const present = [...slots].filter(([, slot]) => values[slot] !== '').map(([name, slot]) => [name, values[slot]])
  return { timeMs, ...Object.fromEntries(present) }
}

const ALL = ['address', 'forwarded_for', 'user', 'method', 'target', 'host', 'user_agent', 'referer']

describe('nginx', () => {
  it('reads the combined format', () => {
    expect(read(NGINX, ALL)).toEqual({
      timeMs: AT,
      address: '192.0.2.1',
      user: 'ada',
      method: 'GET',
      target: '/items?page=2',
      status: '200',
      referer: 'https://x/',
      user_agent: 'curl/8.5',
    })
  })

  it('reads the main format, with X-Forwarded-For at the end, and nothing for a dash', () => {
    const main = NGINX.replace(' ada ', ' - ').replace('"https://x/"', '"-"')
    expect(read(`${main} "198.51.100.9"`, ALL)).toMatchObject({ forwarded_for: '198.51.100.9' })
    expect(Object.keys(read(main, ALL))).not.toEqual(expect.arrayContaining(['user']))
    expect(Object.keys(read(main, ALL))).not.toEqual(expect.arrayContaining(['referer']))
  })

  it.each([
    ['a quote that is escaped', NGINX.replace('/items?page=2', '/a\\"b'), '/a\\"b'],
    ['a space in the path', NGINX.replace('/items?page=2', '/a b'), '/a b'],
    ['HTTP/0.9', NGINX.replace(' HTTP/1.1', ''), '/items?page=2'],
    ['a user with a space', NGINX.replace(' ada ', ' ada l '), '/items?page=2'],
  ])('reads %s', (_, line, target) => {
    expect(read(line, ['target'])).toMatchObject({ timeMs: AT, target })
  })

  it.each([
    ['a request that is none', NGINX.replace('GET /items?page=2 HTTP/1.1', '-')],
    ['bytes of TLS', NGINX.replace('GET /items?page=2 HTTP/1.1', '\\x16\\x03\\x01')],
    ['a day that does not exist', NGINX.replace('20/Nov', '31/Nov')],
    ['a month that does not exist', NGINX.replace('Nov', 'anF')],
    ['an hour that does not exist', NGINX.replace(':10:', ':25:')],
    ...Array.from({ length: NGINX.indexOf('200') }, (_, i) => [`a line torn at ${i}`, NGINX.slice(0, i)]),
  ])('does not read %s', (_, line) => {
    const { reader, slots } = openFormat({ format: 'nginx', header: '' }, ALL, new Map())
    const block = `${line}\n${NGINX}`
    expect(reader.read(block, 0, line.length, new Array(slots.size).fill(''))).toBeNaN()
  })
})

describe('Envoy', () => {
  it('reads the default format', () => {
    expect(read(ENVOY, ALL)).toEqual({
      timeMs: AT + 310,
      forwarded_for: '198.51.100.9, 192.0.2.1',
      method: 'GET',
      target: '/items?page=2',
      status: '200',
      host: 'api.example',
      user_agent: 'curl/8.5',
    })
  })

  it('finds the authority behind a user agent that pretends to be more fields', () => {
    const forged = ENVOY.replace('curl/8.5', 'x" "y" "evil.example" "1.2.3.4:80')
    expect(read(forged, ['host', 'forwarded_for'])).toMatchObject({
      host: 'api.example',
      forwarded_for: '198.51.100.9, 192.0.2.1',
    })
  })

  it('does not read a torn line', () => {
    for (let i = 1; i < ENVOY.length; i++) {
      const torn = ENVOY.slice(0, i)
      // What ends behind a closing quote may be a shorter line, but never one of another request.
      const { timeMs, host } = read(`${torn}`.replace(/^(?!\[2026-)/, '[2026-'), ['host']) as Record<string, unknown>
      if (!torn.endsWith('"') || torn.length < 60) expect([timeMs, host]).toEqual([Number.NaN, undefined])
    }
  })
})

describe('JSON', () => {
  const LINE =
    '{"a":{"b":[1,{"c":"}"}]},"start_time":"2026-11-20T09:00:05.310Z","method":"GET","path":"/it\\u0065ms","response_code":200}'

  it('reads the members that are wanted, wherever they stand', () => {
    const wanted = {
      timeMs: AT + 310,
      time: '2026-11-20T09:00:05.310Z',
      method: 'GET',
      target: '/items',
      status: '200',
    }
    expect(read(LINE, ALL)).toEqual(wanted)
    const turned = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(LINE)).reverse()), null, 1)
    expect(read(turned.replaceAll('\n', ' '), ALL)).toEqual(wanted)
  })

  it('follows names with dots into objects, or takes them as they are', () => {
    const caddy = `{"ts":${(AT + 310) / 1_000},"request":{"client_ip":"192.0.2.1","method":"GET","uri":"/x","headers":{"X-Key":["k1","k2"]}},"status":429}`
    expect(read(caddy, [...ALL, 'key'], '', { key: 'request.headers.X-Key' })).toMatchObject({
      timeMs: AT + 310,
      address: '192.0.2.1',
      method: 'GET',
      target: '/x',
      key: 'k1',
      status: '429',
    })
    expect(read('{"time":1763629205,"request.method":"PUT"}', ['method'])).toMatchObject({ method: 'PUT' })
  })

  it('takes the better of two sources of a field, in any order', () => {
    const [a, b] = ['"path":"/rewritten"', '"x-envoy-original-path":"/asked"']
    for (const both of [`${a},${b}`, `${b},${a}`]) {
      expect(read(`{"time":1763629205,${both}}`, ['target'])).toMatchObject({ target: '/asked' })
    }
  })

  it('reads the method and the path of a request line', () => {
    expect(read('{"time":1763629205,"request":"GET /x HTTP/1.1"}', ALL)).toMatchObject({ method: 'GET', target: '/x' })
  })

  it('reads lines one after the other whose members change places', () => {
    const { reader, slots } = openFormat({ format: 'json', header: '' }, ['user'], new Map())
    for (const line of [
      '{"time":1763629205,"user":"a"}',
      '{"user":"b","time":1763629205}',
      '{"time":1763629205,"users":"c"}',
    ]) {
      const values = new Array<string>(slots.size).fill('')
      expect(reader.read(line, 0, line.length, values)).toBe(1_763_629_205_000)
      expect(values[slots.get('user') as number]).toBe((JSON.parse(line) as { user?: string }).user ?? '')
    }
  })

  it('agrees with JSON.parse about every torn line, and about none of them reads more', () => {
    for (let i = 0; i < LINE.length; i++) {
      const torn = LINE.slice(0, i)
      const { reader, slots } = openFormat({ format: 'json', header: '' }, ALL, new Map())
      expect(reader.read(`${torn}\n${LINE}`, 0, torn.length, new Array(slots.size).fill(''))).toBeNaN()
    }
  })

  it.each([
    '{}',
    '{"time":}',
    '{"time":1763629205}}',
    '{"time":1763629205,}',
    '{"time" 1763629205}',
    '[1]',
    `{"time":1763629205,"x":${'['.repeat(1_000)}`,
  ])('does not read %s', (line) => {
    const { reader, slots } = openFormat({ format: 'json', header: '' }, ALL, new Map())
    expect(reader.read(line, 0, line.length, new Array(slots.size).fill(''))).toBeNaN()
  })
})

describe('CSV', () => {
  it.each([
    [',', 'time,client_ip,"my user",path', '2026-11-20T09:00:05Z,192.0.2.1,"a ""b"", c",/x'],
    [';', 'time;client_ip;my user;path', '2026-11-20T09:00:05Z;192.0.2.1;"a ""b"", c";/x'],
    ['\t', 'time\tclient_ip\tmy user\tpath', '2026-11-20T09:00:05Z\t192.0.2.1\t"a ""b"", c"\t/x'],
  ])('reads cells between %j', (_, header, line) => {
    expect(read(line, ['address', 'user', 'target'], header, { user: 'my user' })).toMatchObject({
      timeMs: AT,
      address: '192.0.2.1',
      user: 'a "b", c',
      target: '/x',
    })
  })

  it.each([
    '2026-11-20T09:00:05Z,a',
    '2026-11-20T09:00:05Z,a,b,c',
    '2026-11-20T09:00:05Z,"a,b',
    '"2026-11-20T09:00:05Z"x,a,b',
  ])('does not read %s below three columns', (line) => {
    expect(read(line, ['user'], 'time,user,path')).toMatchObject({ timeMs: Number.NaN })
  })

  it('names a column that is missing, and its neighbour', () => {
    expect(() => read('1,2', ['user'], 'time,account', { user: 'acount' })).toThrow(
      'FIELD_INVALID: --field user: got "acount", did you mean "account"?',
    )
    expect(() => read('1,2', ['user'], 'when,account')).toThrow('FIELD_INVALID: --field time')
  })

  it('has the fields that its columns are known to be', () => {
    const { names } = fieldsOf({ format: 'csv', header: 'time,remote_addr,request' }, new Map([['tier', 'request']]))
    expect(names).toEqual(new Set(['time', 'remote_addr', 'request', 'address', 'tier', 'method', 'target']))
  })
})

describe('detectFormat', () => {
  it.each([
    ['nginx', NGINX],
    ['envoy', ENVOY],
    ['json', '{"time":1}'],
    ['csv', 'time,user\n1,2'],
    ['decisions', '{"time":"2026-11-20T09:00:05Z","door":"rls","key_kind":"user","key":"user=1"}'],
    ['nginx', `\n# a note\n${NGINX.slice(40)}\n${NGINX}\n${NGINX}`],
  ])('recognises %s', (format, text) => {
    expect(detectFormat('log', text)).toBe(format)
  })

  it('refuses to guess', () => {
    expect(() => detectFormat('notes.txt', 'Dear diary,\ntoday')).toThrow('TRAFFIC_FORMAT_UNKNOWN: notes.txt')
  })
})

describe('Times', () => {
  const read = (text: string): number => new Times().read(text, 0, text.length)

  it.each([
    ['2026-11-20T09:00:05Z', 0],
    ['2026-11-20T09:00:05.31Z', 310],
    ['2026-11-20T09:00:05.310999+00:00', 310],
    ['2026-11-20 10:00:05,310+0100', 310],
    ['2026-11-20T04:30:05-04:30', 0],
    ['2026-11-20T09:00:05', 0],
    ['20/Nov/2026:10:00:05 +0100', 0],
    [String(AT / 1_000), 0],
    [`${AT / 1_000}.123`, 123],
    [String(AT + 5), 5],
    [String((AT + 5) * 1_000), 5],
    [String((AT + 5) * 1_000_000), 5],
  ])('reads %s', (text, ms) => {
    expect(read(text)).toBe(AT + ms)
  })

  it.each([
    '',
    '-',
    'now',
    '2026-11-20',
    '2026-13-20T09:00:05Z',
    '2026-02-30T09:00:05Z',
    '2026-11-20T24:00:05Z',
    '2026-11-20T09:00:05.Z',
    '2026-11-20T09:00:05Zx',
    '2026-11-20T09:00:0',
    '1e400',
    '-5',
    '9999999999999999999999',
  ])('reads %j as no time', (text) => {
    expect(read(text)).toBeNaN()
  })

  it('does not take the time of the line before for another', () => {
    const times = new Times()
    const both = ['20/Nov/2026:10:00:05 +0100', '20/Nov/2026:10:00:06 +0100', '20/Nov/2026:10:00:05 +0200']
    expect(both.map((text) => times.read(text, 0, text.length) - AT)).toEqual([0, 1_000, -3_600_000])
    const days = ['2026-11-20T09:00:05Z', '2026-11-21T09:00:05Z', '2026-11-20T09:00:05Z']
    expect(days.map((text) => times.read(text, 0, text.length) - AT)).toEqual([0, 86_400_000, 0])
  })
})
