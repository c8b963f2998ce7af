import type { ComponentChildren } from 'preact'
import { BlockForm } from './block-form.tsx'
import { EditForm } from './edit-form.tsx'
import type { FormProps } from './form-props.ts'
import { GrantForm } from './grant-form.tsx'
import { KeyForm } from './key-form.tsx'
import type { Opened } from './opened.ts'
import { PlainChange } from './plain-change.tsx'
import { RaiseForm } from './raise-form.tsx'
import { RemoveDialog } from './remove-dialog.tsx'
import { ResetDialog } from './reset-dialog.tsx'
import { TierForm } from './tier-form.tsx'

/** CustomerDialogs shows the form of a change, or what would come of it. */
export function CustomerDialogs({ opened, ...props }: FormProps & { readonly opened: Opened }): ComponentChildren {
  switch (opened.kind) {
    case 'raise':
      return <RaiseForm {...props} {...(opened.limit && { limit: opened.limit })} />
    case 'grant':
      return <GrantForm {...props} />
    case 'block':
      return <BlockForm {...props} />
    case 'tier':
      return <TierForm {...props} />
    case 'edit':
      return <EditForm {...props} />
    case 'add-key':
      return <KeyForm {...props} />
    case 'remove':
      return <RemoveDialog {...props} />
    case 'reset':
    case 'reset-limit':
    case 'reset-key':
      return <ResetDialog opened={opened} {...props} />
    default:
      return <PlainChange opened={opened} {...props} />
  }
}
