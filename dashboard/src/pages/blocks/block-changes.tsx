import type { Block } from '../../api/operations.ts'
import { confirmChange } from '../../kit/change-dialog.tsx'
import { presetInput } from '../../kit/end-times.ts'
import type { Typed } from '../../kit/fields.ts'
import { openForm } from '../../kit/record-form.tsx'
import { undo } from '../../kit/undo.ts'
import { Choice } from '../../ui/parts.tsx'
import { blockBody, KINDS, type Kind } from './block-subject.ts'

const KIND_OPTIONS: readonly (readonly [Kind, string])[] = [
  ['customer', 'Customer'],
  ['key', 'API key'],
  ['cidr', 'Address range'],
]

interface BlockFormOptions {
  /** The name of who is blocked; by default, what is typed. */
  readonly who?: string
  /** Who is blocked cannot be changed. */
  readonly isFixed?: boolean
  /** The reason of a former block. */
  readonly reason?: string | undefined
  readonly reload: () => void
}

/** openBlockForm asks who is refused, until when, and with which answer. */
export function openBlockForm(typed: Typed, { who, isFixed = false, reason, reload }: BlockFormOptions): void {
  const nameOf = (given: Typed): string => who ?? (given.kind === 'key' ? 'this key' : nameIn(given))
  openForm({
    title: isFixed ? `Block ${who}` : 'Block a caller',
    operation: 'createBlock',
    without: ['api_key_id'],
    first: ['customer_id', 'api_key', 'cidr'],
    typed: { status: '403', expires_at: isFixed ? '' : presetInput('24 h'), ...typed },
    about: ({ kind = 'customer', ...rest }, set) =>
      isFixed ? (
        <p class="small soft">
          Every request of this customer is refused immediately, on every node, before anything is counted.
        </p>
      ) : (
        <Choice
          label="Who"
          options={KIND_OPTIONS}
          value={kind as Kind}
          onChoose={(chosen) => set({ ...rest, kind: chosen, [KINDS[chosen]]: '' })}
        />
      ),
    views: ({ kind }) => ({
      customer_id: subject(isFixed || kind !== 'customer', 'Enter the id of a customer.', 'All its keys are refused.'),
      api_key: subject(kind !== 'key', 'Enter a key, or the id of one.', 'The key, which is not stored, or its id.'),
      cidr: subject(
        kind !== 'cidr',
        'Enter an address, or a range such as 198.51.100.0/24.',
        'Such as 198.51.100.0/24, 2001:db8::/32, or one address.',
      ),
      status: { hint: 'Of the answer: 403, or another from 400 to 599.' },
      expires_at: { presets: ['1 h', '24 h', '7 days', '30 days', 'End of month', 'No end'] },
    }),
    next: (read, given) => {
      const body = blockBody({ ...(isFixed && { customer_id: typed.customer_id }), ...read })
      return {
        title: `Block ${nameOf(given)}`,
        asked: { body },
        confirm: 'Block',
        isDanger: true,
        reasonField: 'reason',
        reason,
        done: `${nameOf(given).replace(/^this key/, 'The key')} is blocked, on every node.`,
        undo: ({ body: made }) => undo.blockCreated(made),
        onDone: reload,
      }
    },
  })
}

const subject = (isHidden: boolean, missing: string, hint: string) => ({ isHidden, isNeeded: !isHidden, missing, hint })

const nameIn = ({ kind = 'customer', ...typed }: Typed): string => typed[KINDS[kind as Kind]]?.trim() ?? ''

/** confirmUnblock removes a block. `who` is the name of what it blocks. */
export function confirmUnblock(block: Block, who: string, reload: () => void): void {
  confirmChange({
    title: `Unblock ${who}`,
    operation: 'removeBlock',
    asked: { params: { block_id: block.id }, version: block.version },
    confirm: 'Unblock',
    done: `${who} is no longer blocked.`,
    undo: () => undo.blockRemoved(block),
    onDone: reload,
  })
}
