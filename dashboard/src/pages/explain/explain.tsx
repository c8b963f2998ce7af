import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { RuleTree } from '../../api/operations.ts'
import { notify } from '../../kit/toasts.tsx'
import { type Resource, useResource } from '../../kit/use-resource.ts'
import { place, setQuery } from '../../state/router.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Notice, PageHead, Skeleton, State, Trouble } from '../../ui/parts.tsx'
import { useRuleTree, useSwitches } from '../rules/rules-data.ts'
import { NO_SWITCHES } from '../rules/switch-state.ts'
import { Answer } from './answer.tsx'
import './explain.css'
import { questionOf, remember, wholeOf } from './last-question.ts'
import { asQuery, type Question, understand } from './question.ts'
import { RequestForm } from './request-form.tsx'
import { type Explanation, withoutSecrets } from './verdict.ts'

/** Counters move: the answer is asked for again so often. */
const AGAIN_MS = 3_000
/** The keys of so many patterns are offered. */
const KNOWN_PATTERNS = 200
const BLANK: Question = { domain: '', descriptors: [{ entries: [{ key: '', value: '' }] }] }

/** Explain shows why a request is refused. The address holds the question, without secret values, so that it can be shared. */
export function Explain() {
  const tree = useRuleTree({ limit: 1 })
  const { query, typed, setTyped, asked, setAsked, write } = useQuestion(tree.data)
  const ofDomain = useRuleTree({ domain: typed.domain, limit: KNOWN_PATTERNS })
  const given = understand(query)
  const notes = query !== '' && given.kind === 'understood' ? given.notes : []
  return (
    <>
      <PageHead
        title="Explain"
        about="Why is a request refused? Every rule that applies to it, its counter now, and what would admit it."
      >
        {asked && (
          <Button icon="copy" onClick={() => void copyAddress()}>
            Copy link
          </Button>
        )}
      </PageHead>
      <div class="explain-grid">
        <div>
          <Card title="The request">
            <RequestForm question={typed} tree={tree} known={ofDomain.data} onType={setTyped} onAsk={setAsked} />
          </Card>
        </div>
        <div class="stack top">
          {query !== '' && given.kind === 'unclear' && (
            <Notice tone="warn">What the address asks is not understood. {given.why}</Notice>
          )}
          {notes.map((note) => (
            <Notice key={note}>{note}</Notice>
          ))}
          {asked === undefined ? (
            <Card>
              <State icon="explain" title="Ask about a request">
                Type what the gateway sends, such as user = alice, or paste a line of the decision log. Nothing is
                charged by a look.
              </State>
            </Card>
          ) : (
            <Result key={asQuery(asked)} question={asked} write={write} />
          )}
        </div>
      </div>
    </>
  )
}

/** useQuestion holds what is typed and what is asked. The address follows it, without secret values. */
function useQuestion(tree: RuleTree | undefined) {
  const query = place.value.query.get('q') ?? ''
  const [typed, setTyped] = useState<Question>(() => questionOf(query) ?? BLANK)
  const [asked, setAsked] = useState<Question | undefined>(() => wholeOf(query))
  const [written, setWritten] = useState(query)

  // Another page, or going back, may have changed what is asked.
  useEffect(() => {
    if (query === written || query === '') return
    setWritten(query)
    setTyped(questionOf(query) ?? BLANK)
    setAsked(wholeOf(query))
  }, [query, written])

  // The only domain there is needs no choice.
  const only = tree?.domains.length === 1 ? tree.domains[0].name : undefined
  useEffect(() => {
    if (only !== undefined) setTyped((before) => (before.domain === '' ? { ...before, domain: only } : before))
  }, [only])

  const write = (question: Question, answer: Explanation): void => {
    const q = asQuery(withoutSecrets(question, answer))
    remember(q, question)
    setWritten(q)
    setQuery({ q })
  }
  return { query, typed, setTyped, asked, setAsked, write }
}

async function copyAddress(): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.href)
    notify('The link is copied. It holds the request, without secret values.')
  } catch {
    notify('The browser does not let the link be copied. It is in the address bar.', { isBad: true })
  }
}

interface ResultProps {
  readonly question: Question
  readonly write: (question: Question, answer: Explanation) => void
}

function Result({ question, write }: ResultProps) {
  const answer = useResource(
    asQuery(question),
    (signal) => ask('explain', { body: question, signal }).then(({ body }) => body),
    AGAIN_MS,
  )
  const switches = useSwitches()
  const { data } = answer
  const isAnswered = data !== undefined
  // Which values are secret, the answer says: the address is written once that is known.
  useEffect(() => {
    if (data !== undefined) write(question, data)
  }, [isAnswered])

  if (data === undefined) {
    return <Card>{answer.problem ? <Unanswered {...{ question, answer }} /> : <Skeleton lines={6} />}</Card>
  }
  const reload = (): void => {
    answer.reload()
    switches.reload()
  }
  return <Answer question={question} answer={data} switches={switches.data?.switches ?? NO_SWITCHES} reload={reload} />
}

function Unanswered({ question, answer }: { readonly question: Question; readonly answer: Resource<Explanation> }) {
  const { problem, reload } = answer
  if (problem === undefined) return null
  if (problem.code === 'ADMIN_TOKEN_REQUIRED') {
    return (
      <State icon="tokens" title="Log in to ask about requests">
        Without a token, you may only look at what is there. <a href="/login">Log in</a>
      </State>
    )
  }
  if (problem.code !== 'DOMAIN_UNKNOWN') return <Trouble problem={problem} retry={reload} />
  return (
    <State icon="search" title={`No rules define the domain ${question.domain}`}>
      So nothing in it is limited. If something should be, look at the name of the domain that the gateway sends.
    </State>
  )
}
