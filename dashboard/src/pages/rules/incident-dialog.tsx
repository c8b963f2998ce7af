import { Dialog } from '../../kit/dialog.tsx'
import { openDialog } from '../../kit/dialogs.tsx'
import { Button } from '../../ui/button.tsx'
import type { Mode } from './switch-state.ts'

const CHOICES: readonly (readonly [mode: Mode, title: string, means: string])[] = [
  ['shadow', 'Stop refusing', 'All rules go to shadow mode: they count and report, and refuse no request.'],
  ['off', 'Switch everything off', 'No rule counts and no caller is limited. For when counting is the problem.'],
  ['enforce', 'Enforce everything', 'All rules refuse what is over their limits, also those in shadow mode.'],
]

/** openIncident offers what applies to all rules at the same time, apart from the rest. */
export function openIncident(inForce: Mode | undefined, choose: (mode: Mode) => void): void {
  openDialog(
    <Dialog title="All rules">
      <p class="soft">
        For an incident. It is in force on every node with the next request, until the switch is removed. You see the
        effect before anything happens.
      </p>
      <ul class="stack close">
        {CHOICES.map(([mode, title, means]) => (
          <li key={mode} class="incident-choice">
            <div>
              <strong>{title}</strong>
              <p class="small soft">{means}</p>
            </div>
            <Button kind="danger" isDisabled={inForce === mode} onClick={() => choose(mode)}>
              {inForce === mode ? 'In force' : title}
            </Button>
          </li>
        ))}
      </ul>
    </Dialog>,
  )
}
