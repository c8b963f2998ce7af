import type { Block } from '../../../api/operations.ts'
import { may } from '../../../state/session.ts'
import { Button } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Menu, type MenuItem } from '../../../ui/menu.tsx'
import { Notice, Time } from '../../../ui/parts.tsx'
import {
  addKey,
  blockCustomer,
  changeStatus,
  changeTier,
  editCustomer,
  grantBudget,
  removeCustomer,
  resetCustomer,
  unblock,
} from '../changes/customer-changes.tsx'
import { raiseLimit } from '../changes/raise-limit.tsx'
import { isInForce } from '../data/customer-flags.ts'
import type { CustomerData } from '../data/use-customer.ts'
import { StatusBadge, TierBadge } from './badges.tsx'
import { By } from './created-by.tsx'

/** CustomerHeader shows the name and the state of a customer, and offers every change. */
export function CustomerHeader({ data }: { readonly data: CustomerData }) {
  const { id, name, tier, status, created_at } = data.customer
  const block = data.blocks.data?.find((each) => each.customer_id === id && isInForce(each, Date.now()))
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
        <Actions data={data} isBlocked={block !== undefined} />
      </div>
      {block && <Blocked block={block} data={data} />}
      {status === 'suspended' && (
        <Notice tone="warn">
          <strong>Suspended</strong>: every request is refused with status 403 until the customer is active again.
        </Notice>
      )}
    </header>
  )
}

function Blocked({ block, data }: { readonly block: Block; readonly data: CustomerData }) {
  return (
    <Notice tone="bad">
      <span class="row apart wrap">
        <span class="break">
          <strong>Blocked</strong>: every request is refused
          {block.expires_at === null ? ', without an end' : ', until '}
          {block.expires_at !== null && <Time at={block.expires_at} />}
          {block.reason && <>. Reason: {block.reason}</>}
          <By author={data.authors.get(block.id)} />
        </span>
        {may('operator') && (
          <Button isSmall onClick={() => unblock(data, block)}>
            Unblock
          </Button>
        )}
      </span>
    </Notice>
  )
}

function Actions({ data, isBlocked }: { readonly data: CustomerData; readonly isBlocked: boolean }) {
  if (!may('operator')) return <span class="small faint">To make changes, log in as operator.</span>
  const isActive = data.customer.status === 'active'
  const items: MenuItem[] = [
    { text: 'Change tier', icon: 'tiers', run: () => changeTier(data) },
    { text: 'Reset counters', icon: 'reset', run: () => resetCustomer(data) },
    { text: 'Add key', icon: 'tokens', run: () => addKey(data) },
    { text: 'Edit', icon: 'edit', run: () => editCustomer(data) },
    { text: isActive ? 'Suspend' : 'Activate', icon: isActive ? 'blocks' : 'check', run: () => changeStatus(data) },
  ]
  if (may('admin')) {
    items.push({ text: 'Remove customer', icon: 'trash', isDanger: true, run: () => removeCustomer(data) })
  }
  return (
    <div class="row wrap">
      <Button kind="primary" icon="up" onClick={() => raiseLimit(data)}>
        Raise a limit
      </Button>
      <Button icon="gift" onClick={() => grantBudget(data)}>
        Grant budget
      </Button>
      {!isBlocked && (
        <Button kind="danger" icon="blocks" onClick={() => blockCustomer(data)}>
          Block
        </Button>
      )}
      <Menu label="More" items={items} />
    </div>
  )
}
