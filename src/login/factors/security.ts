// Where users see, name and remove their second factors, get new recovery codes and forget remembered devices.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Factors } from '../../accounts/factors.ts'
import { MAX_PASSKEYS } from '../../accounts/factor-changes.ts'
import { RECOVERY_CODES } from '../../factors/recovery-codes.ts'
import { hasFactor, SECURITY_PATH as PATH } from '../../model/sessions/fresh-sign-in.ts'
import type { Passkey } from '../../model/users/passkey.ts'
import { asksForSecondFactor } from '../../model/users/second-factor.ts'
import type { SecondFactorPolicy } from '../../model/users/second-factor.ts'
import type { Chrome } from '../../pages/layout.ts'
import { sentence } from '../../pages/messages.ts'
import type { Message } from '../../pages/messages.ts'
import { removeFactorPage, renamePasskeyPage, renewCodesPage } from '../../pages/security-forms.ts'
import { securityPage } from '../../pages/security.ts'
import { securityTexts } from '../../pages/texts/security-texts.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { Form } from '../../web/requests/form.ts'
import { queryForm } from '../../web/requests/query.ts'
import type { SignedInUser } from '../../web/sessions/session.ts'
import type { FactorPage } from './factor-pages.ts'
import { ownerOf } from './second-factor-task.ts'
import { acceptedPasskeyName, badName, createSecurityAccess, formOf } from './security-access.ts'
import type { Entry, Problem, SecurityDeps } from './security-access.ts'

/** `/profile/security`, and below it `/codes`, `/rename`, `/remove` and `/devices`. */
export function securityHandlers(on: On<FactorPage>, deps: SecurityDeps, { changes }: Factors): void {
  const { store, pages, clock } = deps
  const { entered, fresh, pathOf, goTo, done, showCodes } = createSecurityAccess(deps)

  const unknown = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    goTo(request, reply, `${PATH}?error=unknown`)

  on(
    'GET /profile/security',
    entered(async (request, reply, { signedIn: { user }, policy }) => {
      const chrome = await pages.chrome(request, reply, { form: true })
      const [own, totp, codes] = await Promise.all([
        store.factors.passkeysOf(request.zone.id, user.id),
        store.factors.totpOf(request.zone.id, user.id),
        store.factors.codesLeft(request.zone.id, user.id, clock.now()),
      ])
      const page = securityPage(chrome, {
        path: pathOf(request),
        passkeys: own,
        totp,
        codes,
        codesInSet: RECOVERY_CODES,
        counting: policy.methods,
        mayAddPasskey: own.length < MAX_PASSKEYS,
        remembersDevices: policy.rememberDays > 0,
        message: messageOf(chrome, queryForm(request)),
        now: clock.now(),
      })
      return pages.send(reply, page)
    }),
  )

  on(
    'GET /profile/security/codes',
    fresh(async (request, reply, { signedIn }) => {
      if (!hasFactor(signedIn.user)) return goTo(request, reply, PATH)
      const chrome = await pages.chrome(request, reply, { form: true })
      const page = renewCodesPage(chrome, { action: pathOf(request, '/codes'), back: pathOf(request) })
      return pages.send(reply, page)
    }),
  )

  on(
    'POST /profile/security/codes',
    fresh(async (request, reply, { signedIn }) => {
      if (!hasFactor(signedIn.user)) return goTo(request, reply, PATH)
      const codes = await changes.renewRecoveryCodes(await ownerOf(request, signedIn, pages))
      return codes ? showCodes(request, reply, { signedIn, codes, continueUrl: PATH }) : goTo(request, reply, PATH)
    }),
  )

  /** A passkey of the user; undefined for any other. */
  async function ownPasskey(
    { zone }: FastifyRequest,
    { user }: SignedInUser,
    form: Form,
  ): Promise<Passkey | undefined> {
    const id = form.get('passkey')
    return (await store.factors.passkeysOf(zone.id, user.id)).find(passkey => passkey.id === id)
  }

  async function showRename(
    request: FastifyRequest,
    reply: FastifyReply,
    { passkey, problem }: { readonly passkey: Passkey; readonly problem?: Problem },
  ): Promise<FastifyReply> {
    const chrome = await pages.chrome(request, reply, { form: true })
    const page = renamePasskeyPage(chrome, {
      action: pathOf(request, '/rename'),
      id: passkey.id,
      name: passkey.name,
      back: pathOf(request),
      problem: problem?.(chrome),
    })
    return pages.send(reply.status(problem ? 422 : 200), page)
  }

  on(
    'GET /profile/security/rename',
    fresh(async (request, reply, { signedIn }) => {
      const passkey = await ownPasskey(request, signedIn, queryForm(request))
      return passkey ? showRename(request, reply, { passkey }) : unknown(request, reply)
    }),
  )

  on(
    'POST /profile/security/rename',
    fresh(async (request, reply, { signedIn }) => {
      const form = formOf(request)
      const passkey = await ownPasskey(request, signedIn, form)
      if (!passkey) return unknown(request, reply)
      const name = acceptedPasskeyName(form.get('name') ?? '')
      if (name === undefined) return showRename(request, reply, { passkey, problem: badName })
      if (name === passkey.name) return goTo(request, reply, PATH)
      const isRenamed = await changes.renamePasskey(await ownerOf(request, signedIn, pages), passkey.id, name)
      return isRenamed ? done(request, reply, 'renamed') : unknown(request, reply)
    }),
  )

  /** What is to be removed: a passkey of the user, or the app; undefined if it is not there. */
  async function target(request: FastifyRequest, signedIn: SignedInUser, form: Form): Promise<Target | undefined> {
    const own = await store.factors.passkeysOf(request.zone.id, signedIn.user.id)
    const methods = signedIn.user.factors?.methods ?? []
    if (form.get('factor') === 'app') {
      return methods.includes('totp') ? { left: methods.filter(method => method !== 'totp') } : undefined
    }
    const passkey = own.find(({ id }) => id === form.get('passkey'))
    const isLast = own.length < 2
    return passkey && { passkey, left: methods.filter(method => method !== 'passkey' || !isLast) }
  }

  /** Whether the zone asks the user for a second factor, if they have one or not. */
  async function isRequired(request: FastifyRequest, { signedIn: { user }, policy }: Entry): Promise<boolean> {
    const { groups } = await deps.groupsOf(request.zone, user)
    return asksForSecondFactor(policy, { origin: user.origin }, groups)
  }

  async function showRemoval(
    request: FastifyRequest,
    reply: FastifyReply,
    { removed, isTooFew }: { readonly removed: Target; readonly isTooFew: boolean },
  ): Promise<FastifyReply> {
    const page = removeFactorPage(await pages.chrome(request, reply, { form: true }), {
      action: pathOf(request, '/remove'),
      passkey: removed.passkey,
      leaves: isTooFew ? 'too few' : removed.left.length === 0 ? 'none' : 'others',
      back: pathOf(request),
    })
    return pages.send(reply, page)
  }

  on(
    'GET /profile/security/remove',
    fresh(async (request, reply, entry) => {
      const removed = await target(request, entry.signedIn, queryForm(request))
      if (!removed) return unknown(request, reply)
      const { methods } = entry.policy
      const isTooFew = !removed.left.some(method => methods.includes(method)) && (await isRequired(request, entry))
      return showRemoval(request, reply, { removed, isTooFew })
    }),
  )

  on(
    'POST /profile/security/remove',
    fresh(async (request, reply, entry) => {
      const { signedIn, policy } = entry
      const removed = await target(request, signedIn, formOf(request))
      if (!removed) return unknown(request, reply)
      // A user who must have a second factor is not left with only the password, with which an attacker could add a new one.
      const leaves = (await isRequired(request, entry)) ? policy.methods : undefined
      const owner = await ownerOf(request, signedIn, pages)
      const { passkey } = removed
      const isRemoved = passkey
        ? await changes.removePasskey(owner, passkey.id, leaves)
        : await changes.removeTotp(owner, leaves)
      if (isRemoved) return done(request, reply, 'removed')
      const [own, totp] = await Promise.all([
        store.factors.passkeysOf(request.zone.id, signedIn.user.id),
        store.factors.totpOf(request.zone.id, signedIn.user.id),
      ])
      const isThere = passkey ? own.some(({ id }) => id === passkey.id) : totp !== undefined
      return isThere ? showRemoval(request, reply.status(422), { removed, isTooFew: true }) : unknown(request, reply)
    }),
  )

  on(
    'POST /profile/security/devices',
    // An attacker with the session loses something by it and gains nothing.
    entered(async (request, reply, { signedIn }) => {
      await changes.forgetDevices(await ownerOf(request, signedIn, pages))
      return done(request, reply, 'forgotten')
    }),
  )
}

/** A factor to remove, and the kinds that the user has without it. */
interface Target {
  /** Absent for the authenticator app. */
  readonly passkey?: Passkey
  readonly left: SecondFactorPolicy['methods']
}

function messageOf({ texts }: Chrome, query: Form): Message | undefined {
  const words = securityTexts(texts)
  if (query.get('error') === 'unknown') return { kind: 'error', text: words.unknown }
  const text = sentence(words.done, query.get('done') ?? '')
  return text === undefined ? undefined : { kind: 'success', text }
}
