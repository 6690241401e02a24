// Where users name a passkey.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Factors } from '../../accounts/factors.ts'
import { SECURITY_PATH as PATH } from '../../model/sessions/fresh-sign-in.ts'
import type { Passkey } from '../../model/users/passkey.ts'
import { renamePasskeyPage } from '../../pages/accounts/security-forms.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { queryForm } from '../../web/requests/query.ts'
import { postedForm } from '../../web/route.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { FactorPage } from './factor-pages.ts'
import { ownerOf } from './second-factor-task.ts'
import { acceptedPasskeyName, badName, createSecurityAccess } from './security-access.ts'
import type { Problem } from './security-access.ts'
import type { LoginDeps } from '../deps.ts'

/** `/rename` below `/profile/security`. */
export function renamePasskeyHandlers(on: On<FactorPage>, deps: LoginDeps, { changes }: Factors): void {
  const { store, pages } = deps
  const { fresh, pathOf, done, unknown } = createSecurityAccess(deps)

  /** A passkey of the user; undefined for any other. */
  async function ownPasskey(
    { zone }: FastifyRequest,
    { user }: SignedInUser,
    form: Form,
  ): Promise<Passkey | undefined> {
    const id = form.get('passkey')
    return (await store.factors.passkeysOf(zone.id, user.id)).find(passkey => passkey.id === id)
  }

  async function show(
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
      return passkey ? show(request, reply, { passkey }) : unknown(reply)
    }),
  )

  on(
    'POST /profile/security/rename',
    fresh(async (request, reply, { signedIn }) => {
      const form = postedForm(request)
      const passkey = await ownPasskey(request, signedIn, form)
      if (!passkey) return unknown(reply)
      const name = acceptedPasskeyName(form.get('name') ?? '')
      if (name === undefined) return show(request, reply, { passkey, problem: badName })
      if (name === passkey.name) return goTo(reply, PATH, deps.urls)
      const isRenamed = await changes.renamePasskey(await ownerOf(request, signedIn, pages), passkey.id, name)
      return isRenamed ? done(reply, 'renamed') : unknown(reply)
    }),
  )
}
