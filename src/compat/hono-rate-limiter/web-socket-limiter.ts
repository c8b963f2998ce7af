import type { Context, Env, Input } from 'hono'
import type { WSContext, WSEvents } from 'hono/ws'
import { checkOptions } from '../../core/check-options.ts'
import { HitGate } from '../../http-door/hit-gate.ts'
import { addressKey } from '../../middleware/hono/connection.ts'
import { defined } from './defined.ts'
import { checkStore, counting, policyName, storeOf } from './hit-limit.ts'
import { HitVariable } from './hit-variable.ts'
import { SOCKET_FORMS } from './option-forms.ts'
import type { Store, WSConfigProps, WSConfigType } from './options.ts'

type Events = (c: Context) => WSEvents | Promise<WSEvents>
type Message = [event: Parameters<NonNullable<WSEvents['onMessage']>>[0], ws: WSContext, c: Context]

/**
 * Counts the messages of WebSockets, with hono-rate-limiter's options. It stands between upgradeWebSocket and the
 * events: `upgradeWebSocket(webSocketLimiter({limit: 100})((c) => ({onMessage…})))`.
 */
export function webSocketLimiter<E extends Env = Env, P extends string = string, I extends Input = Input>(
  config: WSConfigProps<E, P, I>,
): (createEvents: (c: Context<E, P, I>) => WSEvents | Promise<WSEvents>) => (c: Context<E, P, I>) => Promise<WSEvents> {
  const limiter = new MessageLimiter(config as unknown as WSConfigProps)
  return (createEvents) => (c) => limiter.limited(createEvents as unknown as Events, c as unknown as Context)
}

class MessageLimiter {
  readonly #options: WSConfigType
  readonly #gate: HitGate<Message>
  readonly #keys: { readonly getKey: Store['get'] | undefined; readonly resetKey: Store['resetKey'] }

  constructor(given: WSConfigProps) {
    checkOptions(given, SOCKET_FORMS)
    const store = given.store ?? storeOf(given)
    const options: WSConfigType = {
      windowMs: 60_000,
      limit: 5,
      message: 'Too many requests, please try again later.',
      statusCode: 1008,
      requestPropertyName: 'rateLimit',
      requestStorePropertyName: 'rateLimitStore',
      skipFailedRequests: false,
      skipSuccessfulRequests: false,
      keyGenerator: (c) => addressKey(c, given.getConnInfo),
      skip: () => false,
      handler: (_event, ws, { statusCode, message }) => ws.close(statusCode, message),
      ...defined(given),
      store,
    }
    checkStore(store)
    if (typeof store.init === 'function') store.init(options as unknown as Parameters<typeof store.init>[0])
    const { limit, keyGenerator } = options
    this.#options = options
    this.#gate = new HitGate<Message>({
      windowMs: options.windowMs,
      limit: typeof limit === 'function' ? (_event, _ws, c) => limit(c) : limit,
      keyGenerator: (_event, _ws, c) => keyGenerator(c),
      skip: (event, ws) => options.skip(event, ws),
      store: counting(store),
      observer: given.observer,
      onDecision: given.onDecision,
    })
    this.#keys = { getKey: store.get?.bind(store), resetKey: (key) => store.resetKey(key) }
  }

  async limited(createEvents: Events, c: Context): Promise<WSEvents> {
    const events = await createEvents(c)
    return { ...events, onMessage: (event, ws) => this.#receive(events, [event, ws, c]) }
  }

  async #receive({ onMessage }: WSEvents, message: Message): Promise<void> {
    const [event, ws, c] = message
    const { skipFailedRequests, skipSuccessfulRequests, store } = this.#options
    const key = await this.#gate.key(...message)
    if (key === undefined) return onMessage?.(event, ws)
    const hit = await this.#gate.count(key, ...message)
    const { limit, used } = hit
    const decision = this.#gate.decisionOf(hit, policyName(limit, this.#options.windowMs), Date.now())
    c.set(this.#options.requestPropertyName, new HitVariable(hit, decision))
    c.set(this.#options.requestStorePropertyName, this.#keys)
    if (used > limit) return this.#options.handler(event, ws, this.#options)
    try {
      await onMessage?.(event, ws)
    } catch (error) {
      if (skipFailedRequests) await store.decrement(key)
      throw error
    }
    if (skipSuccessfulRequests) await store.decrement(key)
  }
}
