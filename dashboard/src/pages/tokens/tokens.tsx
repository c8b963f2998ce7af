import { ask } from '../../api/client.ts'
import type { NewToken, Token } from '../../api/operations.ts'
import { confirmChange } from '../../kit/change-dialog.tsx'
import { openDialog } from '../../kit/dialogs.tsx'
import { presetInput } from '../../kit/end-times.ts'
import { SelectInput } from '../../kit/inputs.tsx'
import { openForm } from '../../kit/record-form.tsx'
import { actionColumn, type Column, RecordList } from '../../kit/record-list.tsx'
import { SecretDialog } from '../../kit/secret-dialog.tsx'
import { useNewParam } from '../../kit/use-new-param.ts'
import { useResource } from '../../kit/use-resource.ts'
import { session, whyNot } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, Notice, PageHead, State, Time } from '../../ui/parts.tsx'
import { inOrder, isLastAdmin, stateOf } from './token-state.ts'

/** Tokens lists who may use the admin API and this dashboard. */
export function Tokens() {
  const list = useResource('tokens', async (signal) => (await ask('listTokens', { signal })).body.tokens)
  const { reload, data: tokens = [] } = list
  const why = whyNot('admin')
  useNewParam(why, () => createToken(reload))
  const mine = session.value.kind === 'open' ? session.value.who.id : undefined
  const revoke = actionColumn<Token>({
    ...{
      title: 'Revoke',
      why,
      label: ({ name }) => `Revoke: ${name}`,
      isOffered: (token) => stateOf(token) === 'good',
    },
    run: (token) => revokeToken(token, { isMine: token.id === mine, isLast: isLastAdmin(token, tokens), reload }),
  })
  return (
    <>
      <PageHead title="Tokens" about="Who may use the admin API and this dashboard. Tokens are stored as hashes.">
        <Button kind="primary" icon="plus" why={why} onClick={() => createToken(reload)}>
          Create a token
        </Button>
      </PageHead>
      <Card isFlush>
        <RecordList
          label="Tokens"
          columns={[...columns(mine), revoke]}
          list={{ ...list, data: list.data && inOrder(list.data) }}
          keyOf={({ id }) => id}
          empty={<State icon="tokens" title="There is no token in the database" />}
        />
      </Card>
    </>
  )
}

const TONES = { admin: 'accent', operator: 'warn', viewer: 'plain', ledger: 'plain' } as const

function columns(mine: string | undefined): readonly Column<Token>[] {
  return [
    {
      title: 'Name',
      cell: (token) => (
        <span class="row wrap">
          <span class={stateOf(token) === 'good' ? 'break' : 'break faint'}>{token.name}</span>
          {token.id === mine && <Badge tone="good">you</Badge>}
          {stateOf(token) !== 'good' && <Badge tone="bad">{stateOf(token)}</Badge>}
        </span>
      ),
    },
    { title: 'Role', isTight: true, cell: ({ role }) => <Badge tone={TONES[role]}>{role}</Badge> },
    { title: 'Prefix', isTight: true, cell: ({ prefix }) => <code>{prefix}…</code> },
    { title: 'Last used', isTight: true, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
    {
      title: 'Ends',
      isTight: true,
      cell: ({ expires_at, revoked_at }) => <Time at={revoked_at ?? expires_at} none="no end" />,
    },
    { title: 'Created', isTight: true, cell: ({ created_at }) => <Time at={created_at} /> },
  ]
}

const ROLES: readonly (readonly [NewToken['role'], string])[] = [
  ['viewer', 'viewer: reads everything'],
  ['operator', 'operator: changes customers, blocks and switches'],
  ['admin', 'admin: changes everything, tokens included'],
]

function createToken(reload: () => void): void {
  openForm({
    title: 'Create a token',
    operation: 'createToken',
    typed: { role: 'viewer', expires_at: presetInput('90 days') },
    views: {
      name: { hint: 'Its user or its purpose. The audit log shows it.', missing: 'Enter a name.' },
      role: { input: (props) => <SelectInput {...props} options={ROLES} /> },
      expires_at: { presets: ['24 h', '30 days', '90 days', '1 year', 'No end'] },
    },
    next: (body) => ({
      title: `Create the token “${body.name}”`,
      asked: { body },
      confirm: 'Create',
      done: `The token “${body.name}” was created.`,
      onDone: ({ body: { name, role, token } }) => {
        reload()
        const hint = `For the role ${role}: to log in here, or as Authorization: Bearer.`
        openDialog(<SecretDialog title={`The token “${name}”`} label="Token" value={token} hint={hint} />)
      },
    }),
  })
}

interface RevokeOptions {
  readonly isMine: boolean
  readonly isLast: boolean
  readonly reload: () => void
}

function revokeToken({ id, name }: Token, { isMine, isLast, reload }: RevokeOptions): void {
  confirmChange({
    title: `Revoke the token “${name}”`,
    operation: 'revokeToken',
    asked: { params: { token_id: id } },
    about: (
      <>
        <p>The token and its sessions end immediately, on every node. This cannot be undone.</p>
        {isMine && <Notice tone="warn">You are logged in with this token. You will be logged out.</Notice>}
        {isLast && (
          <Notice tone="bad">
            It is the last token with the role admin. After this, only “sluice token create” on the machine of the
            service creates another.
          </Notice>
        )}
      </>
    ),
    confirm: isMine ? 'Revoke my token' : 'Revoke',
    isDanger: true,
    done: `The token “${name}” was revoked.`,
    onDone: reload,
  })
}
