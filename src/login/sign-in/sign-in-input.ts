import type { Message } from '../../pages/parts/messages.ts'
import { messageFor } from '../../pages/parts/messages.ts'
import type { Texts } from '../../pages/texts/texts.ts'
import type { Exchange } from '../../web/exchange.ts'
import type { Form } from '../../web/requests/form.ts'
import type { SignInTarget } from './sign-in-target.ts'

/** The inputs of a sign-in page from its request, and where it is sent. */
export interface SignInPageInput extends Exchange {
  readonly query: Form
  readonly signInTarget: SignInTarget
  /** The input of a failed sign-in; only for our own fields, not for links to other providers. */
  readonly typedName?: string | undefined
}

/** The message that the query names. */
export function signInMessage(texts: Texts, query: Form): Message | undefined {
  const error = query.get('error')
  const success = query.get('success')
  if (error !== undefined) return messageFor(texts, 'error', error)
  return success === undefined ? undefined : messageFor(texts, 'success', success)
}
