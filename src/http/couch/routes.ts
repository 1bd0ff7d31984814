/**
 * The whole of CouchDB's protocol, as a table of contents. Methods are in the order in which the 405 text names them;
 * `allow` says it where that text leaves one out. HEAD falls to GET. `access` says who may come at all: what more a
 * handler asks is asked by its operation.
 */
import {
  deleteAttachment,
  getAttachment,
  putAttachment,
  refuseLocalAttachment,
} from './attachments.ts'
import { postBulkDocs, postMissingRevs, postRevsDiff } from './bulk.ts'
import { postBulkGet } from './bulk-get.ts'
import { getChanges, postChanges } from './changes.ts'
import {
  allDbs,
  deleteDatabase,
  getDatabase,
  getDbsInfo,
  postDbsInfo,
  putDatabase,
} from './databases.ts'
import { getDbUpdates } from './db-updates.ts'
import {
  listView,
  listWithoutName,
  showDocument,
  showWithoutName,
  updateDocument,
  updateWithoutName,
} from './design-functions.ts'
import {
  copyDocument,
  deleteDocument,
  getDocument,
  getLocalDocument,
  postDocument,
  putDocument,
} from './documents.ts'
import type { CouchRoute, Handler } from './exchange.ts'
import {
  bulkDeleteIndexes,
  deleteIndex,
  getIndexes,
  postExplain,
  postFind,
  postIndex,
} from './find.ts'
import { postForm } from './form-upload.ts'
import {
  getAllDocs,
  getDesignDocs,
  getLocalDocs,
  postAllDocs,
  postDesignDocs,
  postLocalDocs,
  queryAllDocs,
  queryDesignDocs,
  queryLocalDocs,
} from './listings.ts'
import {
  getPurgedInfos,
  getPurgedInfosLimit,
  getRevsLimit,
  getSecurity,
  getShardOf,
  getShards,
  postCompact,
  postCompactDesign,
  postEnsureFullCommit,
  postPurge,
  postSyncShards,
  postTempView,
  postViewCleanup,
  putPurgedInfosLimit,
  putRevsLimit,
  putSecurity,
  refuseLocalPlace,
} from './maintenance.ts'
import {
  deleteConfigValue,
  getClusterSetup,
  getConfig,
  getConfigSection,
  getConfigValue,
  incompleteNode,
  nodeName,
  postClusterSetup,
  putConfigValue,
  reloadConfig,
} from './node.ts'
import { getPrometheus, getStats, getSystem, getVersions } from './node-stats.ts'
import { getPartition, inPartition, missingInPartition, refusePartitions } from './partitions.ts'
import { replicate } from './replicate.ts'
import { rewrite } from './rewrites.ts'
import {
  schedulerDocs,
  schedulerDocsOf,
  schedulerElsewhere,
  schedulerJob,
  schedulerJobs,
} from './scheduler.ts'
import { activeTasks, favicon, membership, up, uuids, welcome } from './server-info.ts'
import { deleteSession, getSession, postSession } from './session.ts'
import { getDesignInfo, getView, postView, postViewQueries } from './views.ts'

/** For places that answer whatever the method is. */
const anyMethod = (handler: Handler): Record<string, Handler> =>
  Object.fromEntries(
    ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'COPY', 'PATCH', 'OPTIONS'].map(method => [
      method,
      handler,
    ]),
  )

// biome-ignore format: a table of contents is read line by line
export const ROUTES: readonly CouchRoute[] = [
  // the server
  { path: '/', methods: { GET: welcome, HEAD: welcome }, access: 'everybody' },
  { path: '/favicon.ico', methods: { GET: favicon, HEAD: favicon }, access: 'everybody' },
  { path: '/_up', methods: { GET: up, HEAD: up }, access: 'everybody' },
  { path: '/_uuids', methods: { GET: uuids }, access: 'everybody' },
  { path: '/_all_dbs', methods: { GET: allDbs, HEAD: allDbs }, access: 'lister' },
  { path: '/_dbs_info', methods: { GET: getDbsInfo, HEAD: getDbsInfo, POST: postDbsInfo }, access: 'lister' },
  { path: '/_membership', methods: { GET: membership }, access: 'admin' },
  { path: '/_active_tasks', methods: { GET: activeTasks, HEAD: activeTasks }, access: 'admin' },
  { path: '/_db_updates', methods: { GET: getDbUpdates }, access: 'admin' },
  { path: '/_replicate', methods: anyMethod(replicate), access: 'user' },
  { path: '/_scheduler/jobs', methods: { GET: schedulerJobs, HEAD: schedulerJobs }, access: 'admin' },
  { path: '/_scheduler/jobs/{id}', methods: { GET: schedulerJob, HEAD: schedulerJob }, access: 'admin' },
  { path: '/_scheduler/docs', methods: { GET: schedulerDocs, HEAD: schedulerDocs }, access: 'admin' },
  { path: '/_scheduler/docs/{rest...}', methods: { GET: schedulerDocsOf, HEAD: schedulerDocsOf }, access: 'admin' },
  { path: '/_scheduler/{rest...}', methods: { GET: schedulerElsewhere, HEAD: schedulerElsewhere }, access: 'admin' },
  { path: '/_cluster_setup', methods: { GET: getClusterSetup, POST: postClusterSetup }, access: 'admin' },
  { path: '/_session', methods: { GET: getSession, HEAD: getSession, POST: postSession, DELETE: deleteSession }, access: 'everybody', jsonErrorIs400: true },

  // this node
  { path: '/_node', methods: { GET: incompleteNode }, access: 'admin' },
  { path: '/_node/{node}', methods: { GET: nodeName }, access: 'admin' },
  { path: '/_node/{node}/_config', methods: { GET: getConfig }, access: 'admin' },
  { path: '/_node/{node}/_config/_reload', methods: { POST: reloadConfig }, access: 'admin' },
  { path: '/_node/{node}/_config/{section}', methods: { GET: getConfigSection }, access: 'admin' },
  { path: '/_node/{node}/_config/{section}/{key}', methods: { GET: getConfigValue, PUT: putConfigValue, DELETE: deleteConfigValue }, access: 'admin' },

  { path: '/_node/{node}/_stats', methods: { GET: getStats }, access: 'metrics' },
  { path: '/_node/{node}/_stats/{rest...}', methods: { GET: getStats }, access: 'metrics' },
  { path: '/_node/{node}/_system', methods: { GET: getSystem }, access: 'metrics' },
  { path: '/_node/{node}/_prometheus', methods: { GET: getPrometheus }, access: 'metrics' },
  { path: '/_node/{node}/_versions', methods: { GET: getVersions }, access: 'admin' },

  // a database
  { path: '/{db}', methods: { DELETE: deleteDatabase, GET: getDatabase, HEAD: getDatabase, POST: postDocument, PUT: putDatabase }, allow: 'DELETE,GET,HEAD,POST', access: 'database' },
  { path: '/{db}/_changes', methods: { GET: getChanges, POST: postChanges, HEAD: getChanges }, access: 'database', jsonErrorIs400: true },

  { path: '/{db}/_all_docs', methods: { GET: getAllDocs, HEAD: getAllDocs, POST: postAllDocs }, access: 'database' },
  { path: '/{db}/_all_docs/queries', methods: { POST: queryAllDocs }, access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_design_docs', methods: { GET: getDesignDocs, HEAD: getDesignDocs, POST: postDesignDocs }, access: 'database' },
  { path: '/{db}/_design_docs/queries', methods: { POST: queryDesignDocs }, access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_local_docs', methods: { GET: getLocalDocs, HEAD: getLocalDocs, POST: postLocalDocs }, access: 'database' },
  { path: '/{db}/_local_docs/queries', methods: { POST: queryLocalDocs }, access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_bulk_docs', methods: { POST: postBulkDocs }, access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_bulk_get', methods: { POST: postBulkGet }, access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_revs_diff', methods: { POST: postRevsDiff }, access: 'database' },
  { path: '/{db}/_missing_revs', methods: { POST: postMissingRevs }, access: 'database' },
  { path: '/{db}/_find', methods: { POST: postFind }, access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_explain', methods: { POST: postExplain }, access: 'database' },
  { path: '/{db}/_index', methods: { GET: getIndexes, POST: postIndex }, access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_index/_bulk_delete', methods: { POST: bulkDeleteIndexes }, access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_index/{ddoc}/{type}/{name}', methods: { DELETE: deleteIndex }, access: 'database' },
  { path: '/{db}/_index/_design/{ddoc}/{type}/{name}', methods: { DELETE: deleteIndex }, access: 'database' },
  { path: '/{db}/_security', methods: { PUT: putSecurity, GET: getSecurity }, access: 'database' },
  { path: '/{db}/_revs_limit', methods: { PUT: putRevsLimit, GET: getRevsLimit }, access: 'database' },
  { path: '/{db}/_purged_infos_limit', methods: { GET: getPurgedInfosLimit, PUT: putPurgedInfosLimit }, access: 'database', serverAdmin: true },
  { path: '/{db}/_purged_infos', methods: { GET: getPurgedInfos }, access: 'database' },
  { path: '/{db}/_purge', methods: { POST: postPurge }, access: 'database', serverAdmin: true },
  { path: '/{db}/_ensure_full_commit', methods: { POST: postEnsureFullCommit }, access: 'database' },
  { path: '/{db}/_compact', methods: { POST: postCompact }, access: 'database' },
  { path: '/{db}/_compact/{ddoc}', methods: { POST: postCompactDesign }, access: 'database' },
  { path: '/{db}/_view_cleanup', methods: { POST: postViewCleanup }, access: 'database' },
  { path: '/{db}/_shards', methods: { GET: getShards }, access: 'database' },
  { path: '/{db}/_shards/{id...}', methods: { GET: getShardOf }, access: 'database' },
  { path: '/{db}/_sync_shards', methods: { POST: postSyncShards }, access: 'database', serverAdmin: true },
  { path: '/{db}/_local', methods: { DELETE: refuseLocalPlace, GET: refuseLocalPlace, POST: refuseLocalPlace, PUT: refuseLocalPlace, COPY: refuseLocalPlace }, access: 'database' },
  { path: '/{db}/_temp_view', methods: { POST: postTempView }, access: 'database' },

  // a partition of a database
  { path: '/{db}/_partition', methods: anyMethod(refusePartitions), access: 'database' },
  { path: '/{db}/_partition/{partition}', methods: { GET: getPartition }, access: 'database' },
  { path: '/{db}/_partition/{partition}/_all_docs', methods: inPartition({ GET: getAllDocs, HEAD: getAllDocs, POST: postAllDocs }), access: 'database' },
  { path: '/{db}/_partition/{partition}/_all_docs/queries', methods: inPartition({ POST: queryAllDocs }), access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_partition/{partition}/_find', methods: inPartition({ POST: postFind }), access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_partition/{partition}/_explain', methods: inPartition({ POST: postExplain }), access: 'database' },
  { path: '/{db}/_partition/{partition}/_index', methods: inPartition({ GET: getIndexes, POST: postIndex }), access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_partition/{partition}/_index/_bulk_delete', methods: inPartition({ POST: bulkDeleteIndexes }), access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_partition/{partition}/_index/{ddoc}/{type}/{name}', methods: inPartition({ DELETE: deleteIndex }), access: 'database' },
  { path: '/{db}/_partition/{partition}/_index/_design/{ddoc}/{type}/{name}', methods: inPartition({ DELETE: deleteIndex }), access: 'database' },
  { path: '/{db}/_partition/{partition}/_design/{ddoc}/_view/{view}', methods: inPartition({ GET: getView, HEAD: getView, POST: postView }), access: 'database' },
  { path: '/{db}/_partition/{partition}/_design/{ddoc}/_view/{view}/queries', methods: inPartition({ POST: postViewQueries }), access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_partition/{partition}/{rest...}', methods: anyMethod(missingInPartition), access: 'database' },

  // a document
  { path: '/{db}/{id}', methods: { DELETE: deleteDocument, GET: getDocument, HEAD: getDocument, POST: postForm, PUT: putDocument, COPY: copyDocument }, allow: 'DELETE,GET,HEAD,POST,PUT,COPY', access: 'database', jsonErrorIs400: true, readsDocument: true },
  { path: '/{db}/_design/{id}', methods: { DELETE: deleteDocument, GET: getDocument, HEAD: getDocument, POST: postForm, PUT: putDocument, COPY: copyDocument }, allow: 'DELETE,GET,HEAD,POST,PUT,COPY', access: 'database', jsonErrorIs400: true, readsDocument: true },
  { path: '/{db}/_local/{id}', methods: { DELETE: deleteDocument, GET: getLocalDocument, HEAD: getLocalDocument, POST: postForm, PUT: putDocument, COPY: copyDocument }, allow: 'DELETE,GET,HEAD,POST,PUT,COPY', access: 'database', jsonErrorIs400: true },

  // views of a design document
  { path: '/{db}/_design/{ddoc}/_view/{view}', methods: { GET: getView, HEAD: getView, POST: postView }, access: 'database' },
  { path: '/{db}/_design/{ddoc}/_view/{view}/queries', methods: { POST: postViewQueries }, access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_design/{ddoc}/_info', methods: { GET: getDesignInfo }, access: 'database' },

  // functions of a design document
  { path: '/{db}/_design/{ddoc}/_show', methods: anyMethod(showWithoutName), access: 'database' },
  { path: '/{db}/_design/{ddoc}/_show/{rest...}', methods: anyMethod(showDocument), access: 'database' },
  { path: '/{db}/_design/{ddoc}/_list', methods: { GET: listWithoutName, POST: listWithoutName, HEAD: listWithoutName }, access: 'database' },
  { path: '/{db}/_design/{ddoc}/_list/{rest...}', methods: { GET: listView, POST: listView, HEAD: listView }, access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_design/{ddoc}/_update', methods: anyMethod(updateWithoutName), access: 'database' },
  { path: '/{db}/_design/{ddoc}/_update/{rest...}', methods: anyMethod(updateDocument), access: 'database' },
  { path: '/{db}/_design/{ddoc}/_rewrite', methods: anyMethod(rewrite), access: 'database' },
  { path: '/{db}/_design/{ddoc}/_rewrite/{rest...}', methods: anyMethod(rewrite), access: 'database' },

  // an attachment
  { path: '/{db}/{id}/{name...}', methods: { DELETE: deleteAttachment, GET: getAttachment, HEAD: getAttachment, PUT: putAttachment }, access: 'database', readsDocument: true },
  { path: '/{db}/_design/{id}/{name...}', methods: { DELETE: deleteAttachment, GET: getAttachment, HEAD: getAttachment, PUT: putAttachment }, access: 'database', readsDocument: true },
  { path: '/{db}/_local/{id}/{name...}', methods: { DELETE: refuseLocalAttachment, GET: refuseLocalAttachment, HEAD: refuseLocalAttachment, PUT: refuseLocalAttachment }, access: 'database' },
]
