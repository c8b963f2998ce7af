import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

/** A request with more to it, as frameworks have them. */
interface OwnRequest extends Request {
  readonly cookies: Map<string, string>
}

describe('the types of sluice/fetch', () => {
  it('keep the types of a handler', () => {
    const options = { limit: 100, window: '1m' } as const
    const GET = own.protect(async (request: OwnRequest, { params }: { params: Promise<{ id: string }> }) => {
      return Response.json([request.cookies.size, (await params).id])
    }, options)
    expectTypeOf(GET).toBeCallableWith({} as OwnRequest, { params: Promise.resolve({ id: '7' }) })
    expectTypeOf(GET).returns.resolves.toEqualTypeOf<Response>()
    const middleware = own.protect((_request: Request) => undefined, options)
    expectTypeOf(middleware).returns.resolves.toEqualTypeOf<Response | undefined>()
    expectTypeOf(own.rateLimit(options).protect(() => new Response())).returns.resolves.toEqualTypeOf<Response>()
  })

  it('say what a check returns', () => {
    expectTypeOf<own.FetchLimiter['check']>().returns.resolves.toEqualTypeOf<own.Checked>()
    expectTypeOf<own.Checked['response']>().toEqualTypeOf<Response | undefined>()
    expectTypeOf<own.Checked['headers']>().toEqualTypeOf<Headers>()
  })

  it('refuse what is wrong', () => {
    const wrong = (): unknown[] => [
      // @ts-expect-error a window is a duration
      own.rateLimit({ limit: 1, window: true }),
      // @ts-expect-error there is no such option
      own.rateLimit({ limit: 1, windwo: '1m' }),
      // @ts-expect-error a handler answers with a Response
      own.rateLimit({ limit: 1, window: '1m', handler: () => 'no' }),
    ]
    expectTypeOf(wrong).returns.toExtend<unknown[]>()
  })
})
