import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Asked } from '../../api/client.ts'
import { go } from '../../app/router.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { customerAddress } from './customer-address.ts'
import type { FormProps } from './form-props.ts'
import { leftOf } from './limits.ts'
import { type Belongings, undo } from './undo.ts'

/** RemoveDialog removes a customer and what belongs to it. All but the keys can be made again. */
export function RemoveDialog({ customer, data, onClose }: FormProps) {
  const asked = useMemo<Asked<'removeCustomer'>>(
    () => ({ params: { customer_id: customer.id }, version: customer.version }),
    [customer.id, customer.version],
  )
  const [before] = useState(customer)
  // What belongs to the customer is kept while it is there: after the removal, nobody can read it any more.
  const kept = useRef<Belongings>({ overrides: [], grants: [], blocks: [] })
  useEffect(() => {
    const { overrides, grants, blocks, limits } = data
    if (grants.data === undefined || overrides.data === undefined || blocks.data === undefined) return
    const left = grants.data.map((grant) => ({ ...grant, amount: leftOf(limits.data ?? [], grant.id) ?? 0 }))
    kept.current = { overrides: overrides.data, grants: left, blocks: blocks.data }
  }, [data.overrides.data, data.grants.data, data.blocks.data])
  const isUndone = useRef(false)
  return (
    <ChangeDialog
      title={`Remove ${customer.name}`}
      operation="removeCustomer"
      asked={asked}
      confirm="Remove customer"
      isDanger
      note="Its keys, overrides, grants and blocks go with it. Undo brings back all but the keys: nobody keeps those. To stop a customer for a while, suspend it."
      said={`${customer.name} was removed.`}
      undo={async () => {
        await undo.customerRemoved(before, kept.current)
        isUndone.current = true
      }}
      onClose={onClose}
      onDone={() => go(isUndone.current ? customerAddress(customer.id) : '/customers')}
    />
  )
}
