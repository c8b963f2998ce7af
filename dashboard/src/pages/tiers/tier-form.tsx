import { useRef, useState } from 'preact/hooks'
import { preview } from '../../api/client.ts'
import { ApiProblem, type RuleProblem } from '../../api/problem.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Notice } from '../../ui/parts.tsx'

/** TierFields are what the form holds. */
export interface TierFields {
  readonly domain: string
  readonly name: string
  readonly text: string
  /** Of the stored tier that is replaced; undefined: there is none yet. */
  readonly version: number | undefined
  readonly isNew: boolean
  /** What the text does not say, though the tier in force does. */
  readonly left: readonly string[]
  /** It stands in a rule file now. */
  readonly isOfFile: boolean
}

/** askedOf is what is sent. */
export function askedOf({ domain, name, text, version }: TierFields) {
  return {
    params: { domain: domain.trim(), tier: name.trim() },
    body: { limits: text },
    ...(version !== undefined && { version }),
  }
}

interface TierFormProps {
  readonly fields: TierFields
  readonly domains: readonly string[]
  readonly onChange: (fields: TierFields) => void
  readonly onClose: () => void
  readonly onReady: () => void
}

const typedIn = (event: Event): string => (event.currentTarget as HTMLInputElement).value

/** TierForm edits the limits of a tier as YAML. The server checks them, as it checks a rule file. */
export function TierForm({ fields, domains, onChange, onClose, onReady }: TierFormProps) {
  const [problem, setProblem] = useState<ApiProblem>()
  const [isBusy, setBusy] = useState(false)
  const set = (changes: Partial<TierFields>): void => onChange({ ...fields, ...changes })
  const check = async (): Promise<void> => {
    if (fields.name.trim() === '' || fields.domain.trim() === '') {
      return setProblem(new ApiProblem(0, '', 'A tier has a domain and a name.'))
    }
    setBusy(true)
    setProblem(undefined)
    try {
      await preview('putTier', askedOf(fields))
      onReady()
    } catch (error) {
      setProblem(error instanceof ApiProblem ? error : new ApiProblem(0, '', String(error)))
      setBusy(false)
    }
  }
  const footer = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" isSubmit isDisabled={isBusy}>
        Check and preview
      </Button>
    </>
  )
  const title = fields.isNew ? 'Make a tier' : `Edit the tier ${fields.name}`
  return (
    <Dialog title={title} isWide footer={footer} onClose={onClose} onSubmit={() => void check()}>
      {fields.isNew && <NameFields fields={fields} domains={domains} set={set} />}
      {fields.isOfFile && (
        <Notice>
          This tier stands in the rules. What you put in force here is used in its place, until you remove it.
        </Notice>
      )}
      {fields.left.length > 0 && (
        <Notice tone="warn">
          The text below is made from the rules in force. It does not have these settings, so add them if they are to
          stay:
          <ul>
            {fields.left.map((each) => (
              <li key={each}>
                <code>{each}</code>
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <LimitsField fields={fields} problem={problem} set={set} />
    </Dialog>
  )
}

interface PartProps {
  readonly fields: TierFields
  readonly set: (changes: Partial<TierFields>) => void
}

function NameFields({ fields, domains, set }: PartProps & { readonly domains: readonly string[] }) {
  return (
    <div class="fields">
      <Field label="Domain" hint="Of the rules that ask for the tier.">
        <input list="tier-domains" value={fields.domain} onInput={(event: Event) => set({ domain: typedIn(event) })} />
      </Field>
      <datalist id="tier-domains">
        {domains.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Field label="Name" hint="Such as pro: what customers and keys name.">
        <input value={fields.name} onInput={(event: Event) => set({ name: typedIn(event) })} />
      </Field>
    </div>
  )
}

function LimitsField({ fields, problem, set }: PartProps & { readonly problem: ApiProblem | undefined }) {
  const box = useRef<HTMLDivElement>(null)
  const show = (line: number): void => {
    const area = box.current?.querySelector('textarea')
    if (!area) return
    const lines = fields.text.split('\n')
    const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0)
    area.focus()
    area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0))
  }
  return (
    <div class="stack close" ref={box}>
      <Field
        label="Limits"
        hint="YAML or JSON, as below the name of a tier in a rule file."
        wrong={problem && (problem.problems.length === 0 ? problem.message : countText(problem.problems.length))}
      >
        <textarea
          rows={16}
          spellcheck={false}
          autofocus={!fields.isNew}
          value={fields.text}
          onInput={(event: Event) => set({ text: typedIn(event) })}
        />
      </Field>
      {problem && problem.problems.length > 0 && <Problems problems={problem.problems} show={show} />}
    </div>
  )
}

const countText = (count: number): string => (count === 1 ? 'There is one mistake:' : `There are ${count} mistakes:`)

function Problems({ problems, show }: { problems: readonly RuleProblem[]; show: (line: number) => void }) {
  return (
    <ul class="tier-problems">
      {problems.map(({ line, message, code }, i) => (
        <li key={i} class="row">
          {line > 0 && (
            <Button isSmall kind="quiet" onClick={() => show(line)}>
              Line {line}
            </Button>
          )}
          <span class="break">
            {message} <code class="faint">{code}</code>
          </span>
        </li>
      ))}
    </ul>
  )
}
