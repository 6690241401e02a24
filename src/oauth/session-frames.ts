// The iframes through which a client notices a change of the signed-in user: UAA's two, and the one of OpenID Connect
// Session Management §3.2. The script of each recomputes `session_state` (session-state.ts).
import type { FastifyInstance } from 'fastify'
import type { SessionFrameProps } from '../pages/session-frame.ts'
import { sessionFrame } from '../pages/session-frame.ts'
import { PageError } from '../web/answers.ts'
import { queryForm } from '../web/requests/query.ts'
import { currentUserCookieName } from '../web/sessions/session-cookies.ts'
import type { OAuthDeps } from './deps.ts'

/** The path of `check_session_iframe`. */
export const CHECK_SESSION_PATH = '/check_session'

const FRAMES: readonly { readonly path: string; readonly frame: SessionFrameProps['frame'] }[] = [
  { path: '/session', frame: 'session' },
  { path: '/session_management', frame: 'session_management' },
  { path: CHECK_SESSION_PATH, frame: 'check_session' },
]

/** `GET /session`, `/session_management` and `/check_session`. */
export function sessionFrames(app: FastifyInstance, { assets }: OAuthDeps): void {
  for (const { path, frame } of FRAMES) {
    app.get(
      path,
      {
        config: { access: { by: 'anyone', because: 'it only reports whether the session changed' }, audience: 'open' },
      },
      (request, reply) => {
        const query = queryForm(request)
        const clientId = query.get('clientId')
        const messageOrigin = query.get('messageOrigin')
        const parent = clientId && messageOrigin ? { clientId, messageOrigin } : undefined
        if (frame !== 'check_session' && !parent) {
          throw new PageError(400, 'The parameters clientId and messageOrigin are required.', {
            code: 'invalid_request',
          })
        }
        const page = sessionFrame({
          frame,
          script: assets.sessionFrameScript,
          cookie: currentUserCookieName(request.zone),
          ...(parent && { parent }),
        })
        return reply.type('text/html; charset=utf-8').send(page.toString())
      },
    )
  }
}
