import type { Customer } from '../../api/operations.ts'
import { may } from '../../app/session.ts'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Menu, type MenuItem } from '../../ui/menu.tsx'
import { Notice, Time } from '../../ui/parts.tsx'
import { StatusBadge, TierBadge } from './badges.tsx'
import { isInForce } from './marks.ts'
import type { Open } from './opened.ts'
import type { Author } from './timeline.ts'
import type { CustomerData } from './use-customer.ts'

interface HeadProps {
  readonly customer: Customer
  readonly data: CustomerData
  readonly authors: ReadonlyMap<string, Author>
  readonly onOpen: Open
}

/** CustomerHead says who it is and in what state, and has everything that can be done. */
export function CustomerHead({ customer, data, authors, onOpen }: HeadProps) {
  const { id, name, tier, status, created_at } = customer
  const blocks = (data.blocks.data ?? []).filter((block) => isInForce(block, Date.now()))
  const block = blocks.find(({ customer_id }) => customer_id === id)
  return (
    <header class="stack">
      <div class="customer-head">
        <div class="stack close">
          <a class="small back" href="/customers">
            <Icon name="back" size={14} /> Customers
          </a>
          <h1 class="break">{name}</h1>
          <div class="row wrap small soft">
            <code class="break">{id}</code>
            <TierBadge tier={tier} />
            <StatusBadge status={status} isBlocked={block !== undefined} />
            <span>
              Since <Time at={created_at} />
            </span>
          </div>
        </div>
        <Actions customer={customer} isBlocked={block !== undefined} onOpen={onOpen} />
      </div>
      {block && (
        <Notice tone="bad">
          <span class="row apart wrap">
            <span class="break">
              <strong>Blocked</strong>: everything is refused
              {block.expires_at === null ? (
                ', without an end'
              ) : (
                <>
                  , ending <Time at={block.expires_at} />
                </>
              )}
              {block.reason && <>. Reason: {block.reason}</>}
              <By author={authors.get(block.id)} />
            </span>
            {may('operator') && (
              <Button isSmall onClick={() => onOpen({ kind: 'unblock', block })}>
                Unblock
              </Button>
            )}
          </span>
        </Notice>
      )}
      {status === 'suspended' && (
        <Notice tone="warn">
          <strong>Suspended</strong>: everything is refused with status 403 until the customer is active again.
        </Notice>
      )}
    </header>
  )
}

/** By says who did something, and when. */
export function By({ author }: { readonly author: Author | undefined }) {
  if (author === undefined) return null
  return (
    <>
      {' '}
      · by {author.name}, <Time at={author.at} />
    </>
  )
}

interface ActionsProps {
  readonly customer: Customer
  readonly isBlocked: boolean
  readonly onOpen: Open
}

function Actions({ customer: { status }, isBlocked, onOpen }: ActionsProps) {
  if (!may('operator')) return <span class="small faint">To change something, log in as operator.</span>
  const items: MenuItem[] = [
    { text: 'Change tier', icon: 'tiers', run: () => onOpen({ kind: 'tier' }) },
    { text: 'Reset counters', icon: 'reset', run: () => onOpen({ kind: 'reset' }) },
    { text: 'Add key', icon: 'tokens', run: () => onOpen({ kind: 'add-key' }) },
    { text: 'Edit', icon: 'edit', run: () => onOpen({ kind: 'edit' }) },
    {
      text: status === 'active' ? 'Suspend' : 'Make active',
      icon: status === 'active' ? 'blocks' : 'check',
      run: () => onOpen({ kind: 'status' }),
    },
  ]
  if (may('admin')) {
    items.push({ text: 'Remove customer', icon: 'trash', isDanger: true, run: () => onOpen({ kind: 'remove' }) })
  }
  return (
    <div class="row wrap">
      <Button kind="primary" icon="up" onClick={() => onOpen({ kind: 'raise' })}>
        Raise a limit
      </Button>
      <Button icon="gift" onClick={() => onOpen({ kind: 'grant' })}>
        Grant budget
      </Button>
      {!isBlocked && (
        <Button kind="danger" icon="blocks" onClick={() => onOpen({ kind: 'block' })}>
          Block
        </Button>
      )}
      <Menu label="More" items={items} />
    </div>
  )
}
