import { Button } from '../../ui/button.tsx'

/** FormFooter leads from a form to what the server says would come of it. */
export function FormFooter({ onClose }: { readonly onClose: () => void }) {
  return (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" isSubmit>
        Preview
      </Button>
    </>
  )
}
