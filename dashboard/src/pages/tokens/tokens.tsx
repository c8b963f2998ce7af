import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { MadeToken, NewToken, Token } from '../../api/operations.ts'
import { useResource } from '../../api/resource.ts'
import { place, setQuery } from '../../app/router.ts'
import { session, whyNot } from '../../app/session.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Once } from '../../ui/once.tsx'
import { Badge, Card, Notice, PageHead, State, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { NO_FIELDS, type TokenFields, TokenForm } from './token-form.tsx'
import { inOrder, isLastAdmin, stateOf } from './token-state.ts'

type Step =
  | { readonly kind: 'form'; readonly fields: TokenFields }
  | { readonly kind: 'make'; readonly fields: TokenFields; readonly body: NewToken }
  | { readonly kind: 'made'; readonly token: MadeToken }
  | { readonly kind: 'revoke'; readonly token: Token }

/** Tokens lists who may use the admin API and this dashboard. */
export function Tokens() {
  const { data, problem, reload } = useResource('tokens', async (signal) => (await ask('listTokens', { signal })).body)
  const [step, setStep] = useState<Step>()
  const why = whyNot('admin')
  const isAsked = place.value.query.has('new') && why === undefined
  useEffect(() => {
    if (isAsked) setStep({ kind: 'form', fields: NO_FIELDS })
  }, [isAsked])
  const close = (): void => {
    setStep((now) => (now?.kind === 'made' ? now : undefined))
    if (place.peek().query.has('new')) setQuery({ new: undefined })
  }
  const mine = session.value.kind === 'open' ? session.value.who.id : undefined
  const tokens = data && inOrder(data.tokens)
  return (
    <>
      <PageHead title="Tokens" about="Who may use the admin API and this dashboard. Tokens are kept as hashes.">
        <Button kind="primary" icon="plus" why={why} onClick={() => setStep({ kind: 'form', fields: NO_FIELDS })}>
          Make a token
        </Button>
      </PageHead>
      <Card isFlush>
        <Table
          label="Tokens"
          columns={[...columns(mine), revoking(why, (token) => setStep({ kind: 'revoke', token }))]}
          rows={tokens}
          keyOf={({ id }) => id}
          problem={problem}
          reload={reload}
          empty={<State icon="tokens" title="There is no token in the database" />}
        />
      </Card>
      {step?.kind === 'form' && (
        <TokenForm
          fields={step.fields}
          onChange={(fields) => setStep({ kind: 'form', fields })}
          onReady={(body) => setStep({ kind: 'make', fields: step.fields, body })}
          onClose={close}
        />
      )}
      {step?.kind === 'make' && (
        <ChangeDialog
          title={`Make the token “${step.body.name}”?`}
          operation="createToken"
          asked={step}
          confirm="Make"
          said={`The token “${step.body.name}” was made.`}
          onBack={() => setStep({ kind: 'form', fields: step.fields })}
          onClose={close}
          onDone={({ body }) => {
            setStep({ kind: 'made', token: body })
            reload()
          }}
        />
      )}
      {step?.kind === 'made' && (
        <Once
          title={`The token “${step.token.name}”`}
          label="Token"
          value={step.token.token}
          hint={`For the role ${step.token.role}: to log in here, or as Authorization: Bearer.`}
          onClose={() => setStep(undefined)}
        />
      )}
      {step?.kind === 'revoke' && (
        <Revoke
          token={step.token}
          isMine={step.token.id === mine}
          isLast={isLastAdmin(step.token, data?.tokens ?? [])}
          close={close}
          reload={reload}
        />
      )}
    </>
  )
}

const TONES = { admin: 'accent', operator: 'warn', viewer: 'plain' } as const

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
    { title: 'Begins with', isTight: true, cell: ({ prefix }) => <code>{prefix}…</code> },
    { title: 'Last used', isTight: true, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
    {
      title: 'Ends',
      isTight: true,
      cell: ({ expires_at, revoked_at }) => <Time at={revoked_at ?? expires_at} none="without end" />,
    },
    { title: 'Made', isTight: true, cell: ({ created_at }) => <Time at={created_at} /> },
  ]
}

function revoking(why: string | undefined, act: (token: Token) => void): Column<Token> {
  return {
    title: 'Revoke',
    isTitleHidden: true,
    isTight: true,
    align: 'right',
    cell: (token) =>
      stateOf(token) === 'good' && (
        <Button isSmall why={why} label={`Revoke: ${token.name}`} onClick={() => act(token)}>
          Revoke
        </Button>
      ),
  }
}

interface RevokeProps {
  readonly token: Token
  readonly isMine: boolean
  readonly isLast: boolean
  readonly close: () => void
  readonly reload: () => void
}

function Revoke({ token, isMine, isLast, close, reload }: RevokeProps) {
  const [asked] = useState({ params: { token_id: token.id } })
  const about = (
    <>
      <p>It and its sessions end at once, on every node. This cannot be undone; another token can be made.</p>
      {isMine && <Notice tone="warn">This is the token that you are logged in with. You will be logged out.</Notice>}
      {isLast && (
        <Notice tone="bad">
          It is the last one with the role admin. After this, only “sluice token create” on the machine of the service
          makes another.
        </Notice>
      )}
    </>
  )
  return (
    <ChangeDialog
      title={`Revoke the token “${token.name}”?`}
      operation="revokeToken"
      asked={asked}
      about={about}
      confirm={isMine ? 'Revoke my own token' : 'Revoke'}
      isDanger
      said={`The token “${token.name}” was revoked.`}
      onClose={close}
      onDone={reload}
    />
  )
}
