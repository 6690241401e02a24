// The only place that applies the password policy of a zone. Hashes that are imported, and accounts of the configuration
// file, do not come here.
import { passwordForm } from './typed-password.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { isCommonPassword, isMadeOfNames, namesInEmail } from '../model/users/guessable-password.ts'
import { passwordPolicy, policyViolation, refusedGuesses } from '../model/users/password-policy.ts'
import type { Service } from '../model/service.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import type { CommonPasswords } from './common-passwords.ts'
import { refuseResource } from './refusal.ts'

/** The user whose password it will be. */
type PasswordOwner = Pick<User, 'userName' | 'email' | 'givenName' | 'familyName'>

/** Dependencies of `passwordProblem`. */
export interface PasswordRuleDeps {
  readonly store: Pick<Store, 'providers'>
  readonly service: Service
  readonly behaviour: Behaviour
  readonly commonPasswords: CommonPasswords
}

const PRODUCT = 'latchkey'

/** Why the zone's internal provider does not accept the password, as sentences for a user; undefined if it does. */
export async function passwordProblem(
  zone: Zone,
  { password, owner }: { readonly password: string; readonly owner: PasswordOwner },
  { store, service, behaviour, commonPasswords }: PasswordRuleDeps,
): Promise<string | undefined> {
  const policy = passwordPolicy(await store.providers.findByOrigin(zone.id, service.name))
  const refused = refusedGuesses(policy, behaviour)
  const { userName, email, givenName = '', familyName = '' } = owner
  const names = [
    userName,
    ...namesInEmail(email),
    givenName,
    familyName,
    zone.name,
    zone.subdomain,
    service.name,
    PRODUCT,
  ]
  const form = passwordForm(password)
  return policyViolation(policy, form, behaviour, {
    common: refused.common && isCommonPassword(form, await commonPasswords.load()),
    ownWords: refused.ownWords && isMadeOfNames(form, names),
  })
}

/** Refuses a password that the policy does not accept. */
export async function checkPassword(
  zone: Zone,
  password: { readonly password: string; readonly owner: PasswordOwner },
  deps: PasswordRuleDeps,
): Promise<void> {
  const problem = await passwordProblem(zone, password, deps)
  if (problem !== undefined) throw refuseResource('invalid_password', problem)
}
