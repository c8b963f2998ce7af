import { describe, expect, it } from 'vitest'
import { FieldList } from '../core/http/field-list.ts'
import { changeable, isFixed, refusalHeaders, watchBody } from './web-response.ts'

describe('the headers of a refusal', () => {
  it('do not replace rate limit fields, in whatever case the rule has them', () => {
    const fields = new FieldList()
    fields.add('RateLimit', 'ours')
    const headers = [
      ['ratelimit', 'theirs'],
      ['RATELIMIT', 'theirs'],
      ['X-Plan', 'free'],
    ] as const
    expect(refusalHeaders({ status: 429, contentType: 'text/plain', body: 'für', headers }, fields)).toEqual([
      ['X-Plan', 'free'],
      ['Cache-Control', 'no-store'],
      ['Content-Type', 'text/plain'],
      ['Content-Length', '4'],
    ])
  })

  it('leave nothing out for the fields of an earlier answer', () => {
    const fields = new FieldList()
    fields.add('X-Plan', 'ours')
    fields.clear()
    const refusal = { status: 429, contentType: 'text/plain', body: '', headers: [['X-Plan', 'free']] as const }
    expect(refusalHeaders(refusal, fields)[0]).toEqual(['X-Plan', 'free'])
  })
})

describe('a response', () => {
  it('is copied where its headers cannot be set, and otherwise not', () => {
    const [redirection, plain] = [Response.redirect('http://localhost/', 302), new Response('ok')]
    const copy = changeable(redirection)
    copy.headers.set('RateLimit', 'ours')
    expect([copy.status, copy.headers.get('location'), copy === redirection]).toEqual([302, 'http://localhost/', false])
    expect(changeable(plain)).toBe(plain)
  })

  it('is left as it is where it is an error, and not where it is empty', () => {
    expect([Response.error(), new Response(null, { status: 204 }), new Response()].map(isFixed)).toEqual([
      true,
      false,
      false,
    ])
  })

  it('reports once how its sending ended', async () => {
    const received: string[] = []
    const watched = (name: string, body: ConstructorParameters<typeof Response>[0]) =>
      watchBody(new Response(body), (isWhole) => received.push(`${name} ${isWhole}`))
    watched('empty', null)
    await watched('whole', 'text').text()
    await watched('given up', 'text').body?.cancel()
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('broken')) })
    await expect(watched('broken', broken).text()).rejects.toThrow('broken')
    expect(received).toEqual(['empty true', 'whole true', 'given up false', 'broken false'])
  })
})
