import { useRef, useState } from 'preact/hooks'
import { ask, preview } from '../../api/client.ts'
import type { Tier } from '../../api/operations.ts'
import { ApiProblem, asProblem, type RuleProblem } from '../../api/problem.ts'
import { confirmChange } from '../../kit/change-dialog.tsx'
import { FormDialog } from '../../kit/dialog.tsx'
import { openDialog } from '../../kit/dialogs.tsx'
import { AreaInput, optionsOf, SuggestInput, TextInput } from '../../kit/inputs.tsx'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { Notice } from '../../ui/parts.tsx'

/** TierFields are the contents of the form. */
export interface TierFields {
  readonly domain: string
  readonly name: string
  readonly text: string
  /** Of the stored tier; undefined: there is none. */
  readonly version: number | undefined
  readonly isNew: boolean
  /** Settings of the tier in force that the text lacks. */
  readonly missing: readonly string[]
  /** It is defined in a rule file now. */
  readonly isOfFile: boolean
}

interface TierFormOptions {
  readonly domains: readonly string[]
  /** The stored tier; undefined: there is none. */
  readonly before: Tier | undefined
  readonly reload: () => void
}

/** openTierForm edits the limits of a tier as YAML. The server checks them, as it checks a rule file. */
export function openTierForm(fields: TierFields, options: TierFormOptions): void {
  openDialog(<TierForm {...{ fields, options }} />)
}

function askedOf({ domain, name, text, version }: TierFields) {
  return {
    params: { domain: domain.trim(), tier: name.trim() },
    body: { limits: text },
    ...(version !== undefined && { version }),
  }
}

function confirmTier(fields: TierFields, options: TierFormOptions): void {
  const { before, reload } = options
  const { domain, name } = fields
  confirmChange({
    title: `Put the tier ${name} of ${domain} in force`,
    operation: 'putTier',
    asked: askedOf(fields),
    confirm: 'Put in force',
    done: `The tier ${name} is in force, on every node.`,
    undo: ({ body: { version } }) => {
      const undone = { params: { domain, tier: name }, version, reason: 'undone in the dashboard' }
      if (before === undefined) return ask('removeTier', undone)
      return ask('putTier', { ...undone, body: { limits: before.limits } })
    },
    onBack: () => openTierForm(fields, options),
    onDone: reload,
  })
}

function TierForm({ fields: given, options }: { readonly fields: TierFields; readonly options: TierFormOptions }) {
  const [fields, setFields] = useState(given)
  const [problem, setProblem] = useState<ApiProblem>()
  const [isBusy, setBusy] = useState(false)
  const set = (changes: Partial<TierFields>): void => setFields({ ...fields, ...changes })
  const check = async (): Promise<void> => {
    if (fields.name.trim() === '' || fields.domain.trim() === '') {
      return setProblem(new ApiProblem(0, '', 'A tier needs a domain and a name.'))
    }
    setBusy(true)
    setProblem(undefined)
    try {
      await preview('putTier', askedOf(fields))
      confirmTier(fields, options)
    } catch (error) {
      setProblem(asProblem(error))
      setBusy(false)
    }
  }
  const title = fields.isNew ? 'Create a tier' : `Edit the tier ${fields.name}`
  return (
    <FormDialog title={title} submit="Check and preview" isDisabled={isBusy} isWide onSubmit={() => void check()}>
      {fields.isNew && <NameFields fields={fields} domains={options.domains} set={set} />}
      {fields.isOfFile && (
        <Notice>This tier is defined in the rules. What you set here is used in its place, until you remove it.</Notice>
      )}
      {fields.missing.length > 0 && (
        <Notice tone="warn">
          The text below is made from the rules in force. It lacks these settings, so add them if they are to stay:
          <ul>
            {fields.missing.map((each) => (
              <li key={each}>
                <code>{each}</code>
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <LimitsField fields={fields} problem={problem} set={set} />
    </FormDialog>
  )
}

interface PartProps {
  readonly fields: TierFields
  readonly set: (changes: Partial<TierFields>) => void
}

function NameFields({ fields, domains, set }: PartProps & { readonly domains: readonly string[] }) {
  return (
    <div class="fields">
      <Field label="Domain" hint="Of the rules that use the tier.">
        <SuggestInput value={fields.domain} onChange={(domain) => set({ domain })} options={optionsOf(domains)} />
      </Field>
      <Field label="Name" hint="Such as pro: the name in customers and keys.">
        <TextInput value={fields.name} onChange={(name) => set({ name })} />
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
        hint="YAML or JSON, as under the name of a tier in a rule file."
        wrong={problem && (problem.problems.length === 0 ? problem.message : countText(problem.problems.length))}
      >
        <AreaInput
          rows={16}
          spellcheck={false}
          autofocus={!fields.isNew}
          value={fields.text}
          onChange={(text) => set({ text })}
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
