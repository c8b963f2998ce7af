import type { SluiceError } from 'sluice/internal/core/errors'
import { leftIn } from '../../ledger/shortage-text.ts'
import { named, needed, object, orNull, WHOLE, WORDS } from '../../records/forms.ts'
import type { Call } from '../api/operation.ts'
import { timeText } from '../api/values.ts'
import { BALANCE, balanceJson } from '../ledger/answers.ts'
import { LEDGER } from '../ledger/ledger-key.ts'
import type { LookedCounter, LookedMeter } from './counters.ts'

/** What a meter would say to a request that the limit of its rule admits. */
export const METER_STATE = named(
  'MeterState',
  object({
    descriptor: needed(WHOLE, 'the position of the descriptor in the request'),
    rule_id: needed(WORDS),
    rule_name: needed(WORDS),
    meter: needed(WORDS),
    takes: needed(WHOLE, 'what a request of cost 1 takes'),
    customer_id: orNull(WORDS, 'who pays; null: no entry leads to a customer'),
    code: orNull(
      { kind: 'choice', of: ['LEDGER_SHORT', 'LEDGER_CUSTOMER_UNKNOWN', 'LEDGER_UNAVAILABLE'] },
      'why it would refuse; null: it would pay',
    ),
    status: orNull(WHOLE, 'of the refusal'),
    balance: orNull(BALANCE, 'what the customer has; null: not known'),
    what_would_admit: needed(WORDS),
  }),
)

interface MeterAnswer {
  readonly code: 'LEDGER_SHORT' | 'LEDGER_CUSTOMER_UNKNOWN' | 'LEDGER_UNAVAILABLE' | null
  readonly status: number | null
  readonly balance: ReturnType<typeof balanceJson> | null
  readonly what_would_admit: string
}

const STRANGER: MeterAnswer = {
  code: 'LEDGER_CUSTOMER_UNKNOWN',
  status: 402,
  balance: null,
  what_would_admit: 'An entry that names a customer who is known, or an API key of one.',
}

const away = (what_would_admit: string): MeterAnswer => ({
  code: 'LEDGER_UNAVAILABLE',
  status: 503,
  balance: null,
  what_would_admit,
})

/** Asks the meters of rules that would ask them, as things are now. Nothing is booked. */
export async function meterStates(call: Pick<Call, 'parts'>, counters: readonly LookedCounter[]) {
  const asked = counters.filter(asksLedger)
  return Promise.all(
    asked.map(async ({ descriptor, ruleId, ruleName, ledger }) => ({
      descriptor,
      rule_id: ruleId,
      rule_name: ruleName,
      meter: ledger.meter,
      takes: ledger.takes,
      customer_id: ledger.customerId ?? null,
      ...(await answerOf(call, ledger)),
    })),
  )
}

/** A rule that only reports takes nothing, as decisions have it. */
function asksLedger(counter: LookedCounter): counter is LookedCounter & { readonly ledger: LookedMeter } {
  const { ledger, isShadow, switchedTo } = counter
  return ledger !== undefined && (switchedTo === undefined ? !isShadow : switchedTo === 'enforce')
}

async function answerOf(call: Pick<Call, 'parts'>, { meter, takes, customerId }: LookedMeter): Promise<MeterAnswer> {
  const ledger = call.parts.find(LEDGER)
  if (ledger === undefined) return away('A database: the service has none (--database).')
  if (customerId === undefined) return STRANGER
  try {
    const { outcome, balance, refusalStatus } = await ledger.ask(customerId, meter, { kind: 'look' })
    if (outcome.kind === 'unknown' && outcome.what === 'customer') return STRANGER
    if (balance === undefined) return away(`A meter ${meter}: there is none. Create it, or correct the rule.`)
    const left = leftIn(balance.available)
    const shown = balanceJson(balance)
    if (left >= takes) {
      return { code: null, status: null, balance: shown, what_would_admit: `It is paid: ${left} of ${meter} are left.` }
    }
    const renews = timeText(balance.period.endMs)
    const what_would_admit = `It takes ${takes} of ${meter}, and ${left} are left. Issue credits or a grant, or wait for the next period, which begins at ${renews}, if its allowance is enough.`
    return { code: 'LEDGER_SHORT', status: refusalStatus, balance: shown, what_would_admit }
  } catch (error) {
    return away(`A database that answers: ${(error as SluiceError).message}`)
  }
}
