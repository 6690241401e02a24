import type { AddressedZone } from '../model/request.ts'
import type { User } from '../model/users/user.ts'
import type { MailFrame } from '../pages/mails/frame.ts'
import { sendAccountMail } from './account-mails.ts'
import { switchesIn } from './switches.ts'
import type { AccountDeps } from './deps.ts'

/** Mails the owner of an account that its password was changed, with a link to change it back. */
export async function passwordChangedMail(
  { zone, frame, user }: { readonly zone: AddressedZone; readonly frame: MailFrame; readonly user: User },
  deps: AccountDeps,
): Promise<void> {
  const { selfService } = await switchesIn(zone, { store: deps.store, serviceName: deps.service.name })
  const order = { zone, frame, mail: 'passwordChanged', to: user.email } as const
  await sendAccountMail({ ...order, ...(selfService && { path: '/forgot_password' }) }, deps)
}
