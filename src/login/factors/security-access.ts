// Who may see and change second factors. A session is enough to see them; adding, naming and removing requires a sign-in in
// the last minutes, with a second factor if the user has one.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SECURITY_PATH as PATH } from '../../model/sessions/fresh-sign-in.ts'
import { isAbout, secondFactorPolicy } from '../../model/users/second-factor.ts'
import type { SecondFactorPolicy } from '../../model/users/second-factor.ts'
import type { Chrome } from '../../pages/parts/layout.ts'
import { recoveryCodesPage } from '../../pages/sign-in/second-factor.ts'
import { securityTexts } from '../../pages/texts/security-texts.ts'
import type { SecurityDone } from '../../pages/texts/security-texts.ts'
import { acceptedName } from '../../users/own-details.ts'
import { PageError } from '../../web/answers.ts'
import { goTo } from '../../web/redirect.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import { createFreshSignIn } from '../sign-in/fresh-sign-in.ts'
import type { LoginDeps } from '../deps.ts'

/** The signed-in user, and the policy that applies. */
export interface Entry {
  readonly signedIn: SignedInUser
  readonly policy: SecondFactorPolicy
}

/** Answers an authorized request. */
type Answer = (request: FastifyRequest, reply: FastifyReply, entry: Entry) => Promise<FastifyReply>

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** Shared by the pages. */
export interface SecurityAccess {
  /** For any signed-in user. */
  readonly entered: (answer: Answer) => Handler
  /** For users who have just signed in; others sign in and return to the page of the submitted form. */
  readonly fresh: (answer: Answer) => Handler
  /** The path of a page below `/profile/security`. */
  readonly pathOf: (request: FastifyRequest, path?: string) => string
  readonly done: (reply: FastifyReply, what: SecurityDone) => FastifyReply
  /** For a factor that the user does not have. */
  readonly unknown: (reply: FastifyReply) => FastifyReply
  readonly showCodes: (request: FastifyRequest, reply: FastifyReply, shown: NewCodes) => Promise<FastifyReply>
}

/** Recovery codes that are shown once. */
interface NewCodes {
  readonly signedIn: SignedInUser
  readonly codes: readonly string[]
  readonly continueUrl: string
}

/** One instance serves every zone. */
export function createSecurityAccess(deps: LoginDeps): SecurityAccess {
  const { sessions, limits, pages, urls } = deps
  const afterFreshSignIn = createFreshSignIn(deps)

  const pathOf = ({ zone }: FastifyRequest, path = ''): string => `${urls.pathOf(zone)}${PATH}${path}`
  const done = (reply: FastifyReply, what: SecurityDone): FastifyReply => goTo(reply, `${PATH}?done=${what}`, urls)
  const unknown = (reply: FastifyReply): FastifyReply => goTo(reply, `${PATH}?error=unknown`, urls)

  /** The pages do not exist for users to whom the policy of the zone does not apply. */
  async function entryOf(request: FastifyRequest): Promise<Entry> {
    const signedIn = await sessions.signedIn(request)
    if (!signedIn) throw new Error('the gate requires a session')
    const policy = secondFactorPolicy(request.zone, deps.behaviour)
    if (!isAbout(policy, signedIn.user)) throw new PageError(404, 'Page not found')
    return { signedIn, policy }
  }

  const entered = (answer: Answer) => async (request: FastifyRequest, reply: FastifyReply) =>
    answer(request, reply, await entryOf(request))

  const fresh = (answer: Answer) =>
    entered(async (request, reply, entry) => {
      const url = request.url.slice(urls.basePath.length)
      const path = request.method === 'GET' ? url : url.replace(/[?#].*/s, '')
      const { signedIn } = entry
      const change = async (): Promise<FastifyReply> => {
        if (request.method === 'POST') await limits.ownChanges.take(`${request.zone.id} ${signedIn.user.id}`)
        return answer(request, reply, entry)
      }
      return afterFreshSignIn(request, reply, { signedIn, path, answer: change })
    })

  async function showCodes(
    request: FastifyRequest,
    reply: FastifyReply,
    { signedIn, codes, continueUrl }: NewCodes,
  ): Promise<FastifyReply> {
    const page = recoveryCodesPage(await pages.chrome(request, reply), {
      codes,
      userName: signedIn.user.userName,
      continueUrl: urls.ofZone(request.zone) + continueUrl,
    })
    return pages.send(reply, page)
  }

  return { entered, fresh, pathOf, done, unknown, showCodes }
}

/** A message for the user, in the language of the page. */
export type Problem = (chrome: Pick<Chrome, 'texts'>) => string

/** The message for an invalid name. */
export const badName: Problem = ({ texts }) => securityTexts(texts).badName

/** Characters of a passkey's name. */
const MAX_NAME_LENGTH = 64
const VISIBLE = /[^\p{C}\p{Z}\p{M}]/u

/** Undefined for a name that is blank, too long or has control characters. */
export function acceptedPasskeyName(typed: string): string | undefined {
  const name = acceptedName(typed)
  return name === undefined || !VISIBLE.test(name) || name.length > MAX_NAME_LENGTH ? undefined : name
}
