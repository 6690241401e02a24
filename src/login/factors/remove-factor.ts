// Where users remove a passkey or the authenticator app.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Factors } from '../../accounts/factors.ts'
import type { Passkey } from '../../model/users/passkey.ts'
import { asksForSecondFactor } from '../../model/users/second-factor.ts'
import type { SecondFactorPolicy } from '../../model/users/second-factor.ts'
import type { User } from '../../model/users/user.ts'
import { removeFactorPage } from '../../pages/accounts/security-forms.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { Form } from '../../web/requests/form.ts'
import { queryForm } from '../../web/requests/query.ts'
import { postedForm } from '../../web/route.ts'
import type { FactorPage } from './factor-pages.ts'
import { ownerOf } from './second-factor-task.ts'
import { createSecurityAccess } from './security-access.ts'
import type { Entry } from './security-access.ts'
import type { LoginDeps } from '../deps.ts'

/** A factor to remove, and the kinds that would remain. */
interface Removal {
  /** Absent for the authenticator app. */
  readonly passkey?: Passkey
  readonly left: SecondFactorPolicy['methods']
}

/** `/remove` below `/profile/security`. */
export function removeFactorHandlers(on: On<FactorPage>, deps: LoginDeps, { changes }: Factors): void {
  const { store, pages } = deps
  const { fresh, pathOf, done, unknown } = createSecurityAccess(deps)

  /** Whether the zone asks the user for a second factor, if they have one or not. */
  async function isRequired(request: FastifyRequest, { signedIn: { user }, policy }: Entry): Promise<boolean> {
    const { groups } = await deps.groupsOf(request.zone, user)
    return asksForSecondFactor(policy, { origin: user.origin }, groups)
  }

  const asked = async (request: FastifyRequest, { signedIn: { user } }: Entry, form: Form) =>
    removalOf(form, user, await store.factors.passkeysOf(request.zone.id, user.id))

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { removal, isTooFew }: { readonly removal: Removal; readonly isTooFew: boolean },
  ): Promise<FastifyReply> {
    const page = removeFactorPage(await pages.chrome(request, reply, { form: true }), {
      action: pathOf(request, '/remove'),
      passkey: removal.passkey,
      leaves: isTooFew ? 'too few' : removal.left.length === 0 ? 'none' : 'others',
      back: pathOf(request),
    })
    return pages.send(reply, page)
  }

  on(
    'GET /profile/security/remove',
    fresh(async (request, reply, entry) => {
      const removal = await asked(request, entry, queryForm(request))
      if (!removal) return unknown(reply)
      const { methods } = entry.policy
      const isTooFew = !removal.left.some(method => methods.includes(method)) && (await isRequired(request, entry))
      return show(request, reply, { removal, isTooFew })
    }),
  )

  on(
    'POST /profile/security/remove',
    fresh(async (request, reply, entry) => {
      const { signedIn, policy } = entry
      const removal = await asked(request, entry, postedForm(request))
      if (!removal) return unknown(reply)
      // A user who must have a second factor is not left with only the password, with which an attacker could add a new one.
      const leaves = (await isRequired(request, entry)) ? policy.methods : undefined
      const owner = await ownerOf(request, signedIn, pages)
      const { passkey } = removal
      const isRemoved = passkey
        ? await changes.removePasskey(owner, passkey.id, leaves)
        : await changes.removeTotp(owner, leaves)
      if (isRemoved) return done(reply, 'removed')
      const [own, totp] = await Promise.all([
        store.factors.passkeysOf(request.zone.id, signedIn.user.id),
        store.factors.totpOf(request.zone.id, signedIn.user.id),
      ])
      const isThere = passkey ? own.some(({ id }) => id === passkey.id) : totp !== undefined
      return isThere ? show(request, reply.status(422), { removal, isTooFew: true }) : unknown(reply)
    }),
  )
}

/** The factor that the form names; undefined if the user does not have it. */
function removalOf(form: Form, user: User, passkeys: readonly Passkey[]): Removal | undefined {
  const methods = user.factors?.methods ?? []
  if (form.get('factor') === 'app') {
    return methods.includes('totp') ? { left: methods.filter(method => method !== 'totp') } : undefined
  }
  const passkey = passkeys.find(({ id }) => id === form.get('passkey'))
  const isLast = passkeys.length < 2
  return passkey && { passkey, left: methods.filter(method => method !== 'passkey' || !isLast) }
}
