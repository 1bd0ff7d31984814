/**
 * The steps of an upgrade, in order. Each is noted in the upgrade's document before it begins, and may be done again from
 * its beginning: whoever goes on after a crash looks at what was noted last.
 *
 * Staging changes nothing that is in use. Completing swaps all design documents of a database in one commit; the
 * indexes they need are there already.
 */
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { Document } from '../documents/document.ts'
import { bundledDesigns } from '../install/install.ts'
import { buildId, readBuild } from './build.ts'
import { fetchBuild } from './fetch-build.ts'
import { stagedDesign } from './staged-design.ts'
import { deployStaged, removeStaged, saveStaged } from './staged-documents.ts'
import type { UpgradeContext } from './upgrade-context.ts'
import { hasBegun } from './upgrade-document.ts'
import { warmIndexes } from './warm-indexes.ts'

/** As far as it is to go now. */
export async function runUpgrade(context: UpgradeContext): Promise<void> {
  if (context.upgrade.action === 'abort') return abort(context)
  if (context.upgrade.staging_complete !== true) await stage(context)
  if (context.upgrade.action !== 'stage') await complete(context)
}

async function stage(context: UpgradeContext): Promise<void> {
  // Once all documents are staged, half-built indexes are worth more than a fresh start.
  if (!hasBegun(context.upgrade, 'warmingViews')) await stageDesigns(context)
  await context.enter('indexing')
  await warmIndexes(context)
  await context.enter('indexed')
  await context.note('readyToDeploy', 'Staging complete', { staging_complete: true })
}

async function stageDesigns(context: UpgradeContext): Promise<void> {
  const { upgrade, databases, server } = context
  const name = buildId(upgrade.build_info)
  await context.note('init', `Deployment of '${name}' initialising`)
  await context.note('preCleanup', 'Pre-deploy cleanup')
  await cleanUp(context)
  await context.note('download', 'Downloading and staging install')
  const fetched = await fetchBuild(context.buildsUrl, upgrade.build_info, context.signal)
  const build = readBuild(fetched, server.configuration.get(SETTINGS.authenticationDb))
  await context.note('extractingDdocs', 'Extracting ddocs')
  const bundled = bundledDesigns(server)
  const deployment = {
    user: upgrade.user,
    upgradeLogId: upgrade.upgrade_log_id,
    buildInfo: { ...upgrade.build_info, ...build.info },
  }
  for (const database of databases) {
    const designs: Document[] = build.designs
      .filter(design => design.database === database.name)
      .map(design => {
        const own = bundled.get(database.name)?.find(({ name }) => name === design.name)
        return stagedDesign(design, own, deployment)
      })
    await saveStaged(database, designs)
  }
  await context.enter('staged')
  await context.note('warmingViews', 'Warming views')
}

async function complete(context: UpgradeContext): Promise<void> {
  const { databases, upgrade } = context
  if (!hasBegun(upgrade, 'postCleanup')) {
    await context.note('initDeploy', 'Initiating deployment')
    await context.enter('completing')
    // What changed since they were staged is followed before anybody has to wait for it.
    await warmIndexes(context)
    await context.note('deploying', 'Deploying new installation')
    for (const database of databases) {
      await deployStaged(database, upgrade.upgrade_log_id, context.clock())
    }
    await context.enter('complete')
    await context.note('postCleanup', 'Post-deploy cleanup, installation complete')
  }
  await context.enter('finalizing')
  await cleanUp(context)
  await context.enter('finalized')
  await context.remove()
}

async function abort(context: UpgradeContext): Promise<void> {
  await context.enter('aborting')
  await cleanUp(context)
  await context.enter('aborted')
  await context.remove()
}

/** Staged documents, and indexes that nothing defines any more. */
async function cleanUp({ databases, signal }: UpgradeContext): Promise<void> {
  for (const database of databases) {
    signal.throwIfAborted()
    await removeStaged(database)
    await (await database.open()).cleanUpViews()
  }
}
