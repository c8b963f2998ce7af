import { useMemo, useRef, useState } from 'preact/hooks'
import type { RuleNode, RuleTree } from '../../api/operations.ts'
import type { Resource } from '../../kit/use-resource.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { Choice, Notice } from '../../ui/parts.tsx'
import { type Entry, isWhole, type Question, understand } from './question.ts'

interface FormProps {
  readonly question: Question
  readonly tree: Resource<RuleTree>
  /** Rules of the domain that is asked about. */
  readonly known: RuleTree | undefined
  readonly onType: (question: Question) => void
  readonly onAsk: (question: Question) => void
}

const WAYS = [
  ['fields', 'Type it'],
  ['paste', 'Paste it'],
] as const

/** RequestForm takes a request: typed entry by entry, or pasted as it was found. */
export function RequestForm(props: FormProps) {
  const [way, setWay] = useState<'fields' | 'paste'>('fields')
  return (
    <div class="stack request">
      <Choice label="How" options={WAYS} value={way} onChoose={setWay} />
      {way === 'fields' ? <Fields {...props} /> : <Paste {...props} onTaken={() => setWay('fields')} />}
    </div>
  )
}

const BLANK: Entry = { key: '', value: '' }

function Fields({ question, tree, known, onType, onAsk }: FormProps) {
  const { domain, descriptors } = question
  const keys = useMemo(() => keysOf(known, domain), [known, domain])
  const form = useRef<HTMLFormElement>(null)
  const change = (i: number, entries: readonly Entry[]): void =>
    onType({ domain, descriptors: descriptors.map((each, j) => (j === i ? { entries } : each)) })
  const focusLast = (): void => {
    requestAnimationFrame(() => {
      const inputs = form.current?.querySelectorAll<HTMLInputElement>('input.entry-key')
      inputs?.[inputs.length - 1]?.focus()
    })
  }
  return (
    <form
      ref={form}
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (isWhole(question)) onAsk(question)
      }}
    >
      <Field label="Domain">
        <DomainInput domain={domain} tree={tree} onDomain={(changed) => onType({ descriptors, domain: changed })} />
      </Field>
      <datalist id="explain-keys">
        {keys.map((key) => (
          <option key={key} value={key} />
        ))}
      </datalist>
      {descriptors.map(({ entries }, i) => (
        <Descriptor
          key={i}
          number={descriptors.length > 1 ? i + 1 : undefined}
          entries={entries}
          onChange={(changed) => change(i, changed)}
          onAdded={focusLast}
          {...(descriptors.length > 1 && {
            onRemove: () => onType({ domain, descriptors: descriptors.filter((_, j) => j !== i) }),
          })}
        />
      ))}
      <div class="row wrap apart">
        <Button
          kind="quiet"
          icon="plus"
          onClick={() => {
            onType({ domain, descriptors: [...descriptors, { entries: [BLANK] }] })
            focusLast()
          }}
        >
          Add a descriptor
        </Button>
        <Button kind="primary" isSubmit isDisabled={!isWhole(question)}>
          Explain
        </Button>
      </div>
    </form>
  )
}

interface DomainProps {
  readonly domain: string
  readonly tree: Resource<RuleTree>
  readonly onDomain: (domain: string) => void
}

/** DomainInput offers the domains that have rules. If they cannot be read, one can be typed; a field in use never changes its kind. */
function DomainInput({ domain, tree: { data, problem }, onDomain, ...field }: DomainProps) {
  if (data === undefined && problem !== undefined)
    return <input {...field} value={domain} onInput={(event) => onDomain(event.currentTarget.value)} />
  const unknown = data === undefined ? domain || 'Loading …' : domain === '' ? 'Choose' : `${domain} (no rules)`
  return (
    <select
      {...field}
      value={domain}
      disabled={data === undefined}
      onChange={(event) => onDomain(event.currentTarget.value)}
    >
      {!data?.domains.some(({ name }) => name === domain) && <option value={domain}>{unknown}</option>}
      {data?.domains.map(({ name }) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  )
}

interface DescriptorProps {
  readonly number: number | undefined
  readonly entries: readonly Entry[]
  readonly onChange: (entries: readonly Entry[]) => void
  readonly onAdded: () => void
  readonly onRemove?: () => void
}

function Descriptor({ number, entries, onChange, onAdded, onRemove }: DescriptorProps) {
  const suffix = number === undefined ? '' : ` of descriptor ${number}`
  const put = (i: number, changes: Partial<Entry>): void =>
    onChange(entries.map((entry, j) => (j === i ? { ...entry, ...changes } : entry)))
  return (
    <fieldset class="descriptor">
      <legend class="row apart">
        <span>{number === undefined ? 'Descriptor' : `Descriptor ${number}`}</span>
        {onRemove && (
          <Button kind="quiet" isSmall icon="trash" label={`Remove descriptor ${number}`} onClick={onRemove} />
        )}
      </legend>
      {entries.map(({ key, value }, i) => (
        <div key={i} class="entry">
          <input
            class="input mono entry-key"
            aria-label={`Key ${i + 1}${suffix}`}
            placeholder="key"
            list="explain-keys"
            value={key}
            onInput={(event) => put(i, { key: event.currentTarget.value })}
          />
          <span aria-hidden="true" class="faint">
            =
          </span>
          <input
            class="input mono"
            aria-label={`Value ${i + 1}${suffix}`}
            placeholder="value"
            value={value}
            onInput={(event) => put(i, { value: event.currentTarget.value })}
          />
          <Button
            kind="quiet"
            isSmall
            icon="close"
            label={`Remove entry ${i + 1}${suffix}`}
            isDisabled={entries.length === 1}
            onClick={() => onChange(entries.filter((_, j) => j !== i))}
          />
        </div>
      ))}
      <div>
        <Button
          kind="quiet"
          isSmall
          icon="plus"
          {...(number !== undefined && { label: `Add an entry to descriptor ${number}` })}
          onClick={() => {
            onChange([...entries, BLANK])
            onAdded()
          }}
        >
          Add an entry
        </Button>
      </div>
    </fieldset>
  )
}

/** keysOf are the keys that the rules of a domain ask for. */
function keysOf(tree: RuleTree | undefined, domain: string): string[] {
  const keys = new Set<string>()
  const visit = ({ id, below }: RuleNode, parent: string): void => {
    const step = id.startsWith(`${parent}/`) ? id.slice(parent.length + 1) : id
    keys.add(step.split('=')[0])
    for (const next of below) visit(next, id)
  }
  for (const node of tree?.domains.find(({ name }) => name === domain)?.patterns ?? []) visit(node, '')
  return [...keys].slice(0, 50)
}

const EXAMPLE = 'domain=api user=alice endpoint=POST /orders'

function Paste({ question, onType, onAsk, onTaken }: FormProps & { readonly onTaken: () => void }) {
  const [text, setText] = useState('')
  const read = understand(text, question.domain)
  const take = (): void => {
    if (read.kind !== 'understood') return
    onType(read.question)
    if (isWhole(read.question)) onAsk(read.question)
    else onTaken()
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        take()
      }}
    >
      <Field
        label="Request"
        hint="JSON of /v1/check or of Envoy, a line of the decision log, a counter's key, or key=value"
      >
        <textarea
          rows={7}
          spellcheck={false}
          placeholder={EXAMPLE}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
            event.preventDefault()
            take()
          }}
        />
      </Field>
      {text.trim() !== '' && (
        <div role="status">
          {read.kind === 'unclear' ? <Notice tone="warn">{read.why}</Notice> : <Read read={read} />}
        </div>
      )}
      <div class="row apart">
        <span class="faint small">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd> explains it
        </span>
        <Button kind="primary" isSubmit isDisabled={read.kind !== 'understood'}>
          Explain
        </Button>
      </div>
    </form>
  )
}

function Read({ read }: { readonly read: Extract<ReturnType<typeof understand>, { kind: 'understood' }> }) {
  const { domain, descriptors } = read.question
  return (
    <div class="stack close">
      <p class="small">
        Understood as {read.as}
        {domain === '' ? (
          '; choose its domain next'
        ) : (
          <>
            , domain <strong class="break">{domain}</strong>
          </>
        )}
        :
      </p>
      {descriptors.map((descriptor, i) => (
        <Entries key={i} entries={descriptor.entries} />
      ))}
      {read.notes.map((note) => (
        <Notice key={note}>{note}</Notice>
      ))}
    </div>
  )
}

/** Entries shows a descriptor as it is read. */
export function Entries({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <span class="entries">
      {entries.map(({ key, value }, i) => (
        <span key={i} class="entry-text break">
          <span class="faint">{key}=</span>
          {value === '' ? <span class="faint">…</span> : value}
        </span>
      ))}
    </span>
  )
}
