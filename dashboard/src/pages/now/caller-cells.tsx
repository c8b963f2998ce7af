import { formatShare } from '../../format/rate.ts'
import { customerHref } from '../../state/links.ts'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { Badge } from '../../ui/parts.tsx'
import { blockHref, explainHref } from './callers.ts'

/** A Caller is whom a row is about, and which rule. */
export interface Caller {
  readonly domain: string
  readonly rule: string
  readonly rule_name: string
  readonly key: string
  readonly customer_id: string | null
  readonly api_key_id: string | null
}

export const callerKey = ({ domain, rule, key }: Caller): string => `${domain}\n${rule}\n${key}`

/** Who is the customer, where one is known, and what the counter is kept for. */
export function Who({ caller }: { readonly caller: Caller }) {
  const { customer_id: customer, key } = caller
  return (
    <span class="who">
      {customer !== null && <a href={customerHref(customer)}>{customer}</a>}
      <span class={customer === null ? 'mono clip' : 'mono clip faint'} title={key}>
        {key}
      </span>
    </span>
  )
}

interface RuleNameProps {
  readonly domain: string
  readonly id: string
  readonly name: string
  readonly isShadow?: boolean
}

/** RuleName is a rule, by the name that callers see, and its domain. What blocks refuse has no rule, and leads to them. */
export function RuleName({ domain, id, name, isShadow = false }: RuleNameProps) {
  const href = id === BLOCKED ? '/blocks' : `/rules?${new URLSearchParams({ domain, text: id })}`
  return (
    <span class="who">
      <span class="row">
        <a class="mono clip" href={href} title={id}>
          {name}
        </a>
        {isShadow && <Badge tone="warn">shadow</Badge>}
      </span>
      <span class="clip faint" title={domain}>
        {domain}
      </span>
    </span>
  )
}

const BLOCKED = 'blocked'

/** Actions lead to what can be done about a caller. */
export function Actions({ caller, canBlock }: { readonly caller: Caller; readonly canBlock: boolean }) {
  const block = canBlock ? blockHref(caller) : undefined
  const name = caller.customer_id ?? caller.key
  return (
    <span class="row actions">
      <Action icon="explain" label={`Explain ${name}`} href={explainHref(caller.domain, caller.key)} />
      {block && <Action icon="blocks" label={`Block ${name}`} href={block} />}
    </span>
  )
}

function Action({ icon, label, href }: { readonly icon: IconName; readonly label: string; readonly href: string }) {
  return (
    <a class="button quiet small icon" href={href} aria-label={label} title={label}>
      <Icon name={icon} />
    </a>
  )
}

/** ShareBar is a part of all, as a bar and in words. */
export function ShareBar({ share, tone, title }: { share: number; tone: 'bad' | 'plain'; title: string }) {
  return (
    <span class="share" title={title}>
      <span class={`bar ${tone}`} aria-hidden="true">
        <span style={{ width: `${Math.min(1, Math.max(0, share)) * 100}%` }} />
      </span>
      <span class="num">{formatShare(share)}</span>
    </span>
  )
}
