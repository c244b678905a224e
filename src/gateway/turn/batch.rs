//! A batch: many bodies for a model in one request. Each goes through the hooks of `model.context` as a request of its own.
//!
//! Their answers are fetched later, from files or pages, so that nothing of them is bound or followed.
use super::compose::lower;
use super::policy::{Policed, unreadable};
use super::read::{Asked, Read};
use super::upward::Upward;
use super::{Prepared, TurnError, Turns};
use crate::context::Operation;
use crate::context::placement::Scene;
use crate::dialect::Endpoint;
use crate::inspect::Recording;
use crate::json::{Doc, ScanError, Span, Splice};
use crate::session::profile::RequestKind;
use std::sync::Arc;

impl Turns {
    /// The batch after the hooks.
    ///
    /// # Errors
    /// [`TurnError::Body`] when a body can't be read, so that no policy could hold; [`TurnError::Blocked`] when a hook
    /// refuses one: the rest does not go up without it.
    pub(super) async fn batch(self: &Arc<Self>, read: Read) -> Result<Prepared, TurnError> {
        let (mut splice, mut upward) = (Splice::new(), Upward::default());
        for span in read.dialect().batch(&read.doc).map_err(unreadable)? {
            let part = self.part(&read, span)?;
            let placed = lower(&part, Scene::empty());
            let Policed { body, upward: of_part, reply, .. } = self.police(&part, None, &[], placed).await?;
            if let Some(reason) = reply {
                return Err(TurnError::Blocked(reason));
            }
            upward.extend(of_part);
            if let Some(body) = body {
                splice.replace(span, String::from_utf8_lossy(&body.to_bytes()).into_owned());
            }
        }
        if splice.is_empty() && upward == Upward::default() {
            return Ok(Prepared::Relay);
        }
        let body = match splice.is_empty() {
            true => None,
            false => Some(splice.apply(read.doc.bytes()).map_err(|_| ScanError::NotAnObject)?),
        };
        Ok(Prepared::Changed { body, upward, session: None, bound: None })
    }

    /// One of its bodies, as a request.
    fn part(&self, batch: &Read, span: Span) -> Result<Read, TurnError> {
        let body = batch.doc.bytes().slice(span.start..span.end);
        let doc = Doc::parse(body.clone())?;
        let endpoint = Endpoint { operation: Operation::Generate, ..batch.endpoint().clone() };
        let view = self.view(&doc, &endpoint, &batch.profile).map_err(unreadable)?;
        let rename = self.rename(&doc);
        let asked = Asked { endpoint, body, ..batch.asked.clone() };
        let (profile, deadline) = (batch.profile.clone(), batch.deadline);
        Ok(Read { asked, doc, view, rename, profile, kind: RequestKind::Batch, deadline, recording: Recording::NONE })
    }
}
